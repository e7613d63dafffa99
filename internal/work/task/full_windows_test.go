package task

func onFullDisk(*Board) error { return nil }
