// Command tui measures the terminal UI. It needs a pseudo terminal of Unix.
package main

import "fmt"

func main() { fmt.Println("the terminal UI is measured on Unix: it needs a pseudo terminal") }
