// A Firestore server in memory, on a port of loopback: the package's own start listens on every address.
import { createRequire } from "node:module";
import { FirestoreServer } from "@firestore-emulator/server";

const { ServerCredentials } = createRequire(import.meta.resolve("@firestore-emulator/server"))("@grpc/grpc-js");
const address = `127.0.0.1:${process.argv[2]}`;
new FirestoreServer().server.bindAsync(address, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
