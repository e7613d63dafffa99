// Gofer is a coding-agent harness: the loop around a language model, typed tools, and one gate in front of every call.
package main

import (
	"os"

	"gofer/internal/app"
)

func main() { os.Exit(app.Main(os.Args[1:], app.OS())) }
