// What is the FNV-1a hash of it all?
package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

func main() {
	file, err := os.Open("corpus.txt")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	digest := fnv.New32a()
	if _, err := io.Copy(digest, file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(digest.Sum32())
}
