// A Firestore server in memory, on a port of loopback: the package's own start listens on every address. It cannot list
// collections, which is added here from what it holds.
import { createRequire } from "node:module";
import { FirestoreServer } from "@firestore-emulator/server";

const own = createRequire(import.meta.resolve("@firestore-emulator/server"));
const { ServerCredentials, status } = own("@grpc/grpc-js");
const { ListCollectionIdsResponse } = own("@firestore-emulator/proto/dist/google/firestore/v1/firestore");
const { server, state } = new FirestoreServer();

// Of a database only, all in one page: an empty collection is none.
function listCollectionIds(call, callback) {
  const [project, database] = [1, 3].map((at) => call.request.parent.split("/")[at]);
  if (call.request.parent !== `projects/${project}/databases/${database}/documents`) {
    callback({ code: status.UNIMPLEMENTED, message: "collections below a document are not listed here" }, null);
    return;
  }
  const { collections } = state.getProject(project).getDatabase(database);
  const ids = Object.keys(collections).filter((id) => collections[id].hasChild()).sort();
  callback(null, ListCollectionIdsResponse.fromObject({ collection_ids: ids, next_page_token: "" }));
}
server.handlers.get("/google.firestore.v1.Firestore/ListCollectionIds").func = listCollectionIds;

const address = `127.0.0.1:${process.argv[2]}`;
server.bindAsync(address, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
