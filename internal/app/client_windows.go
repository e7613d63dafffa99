package app

import "os"

func notifyBrokenPipes(chan<- os.Signal) {}
