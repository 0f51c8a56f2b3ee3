// A Pub/Sub server in memory, on a port of loopback, until the process is ended.
package main

import (
	"flag"
	"log"

	"cloud.google.com/go/pubsub/pstest"
)

func main() {
	port := flag.Int("port", 0, "the port to listen on")
	flag.Parse()
	log.Printf("listening on %s", pstest.NewServerWithPort(*port).Addr)
	select {}
}
