package main

import (
	"os"
	"strings"
)

var FILE_CONTENT_PATH = os.Getenv("FILE_CONTENT_PATH")

var FILE_CONTENT = func() string {
	content, err := os.ReadFile(FILE_CONTENT_PATH)
	if err != nil {
		panic(err)
	}
	return strings.ToValidUTF8(string(content), "\uFFFD")
}()
