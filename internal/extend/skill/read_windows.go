package skill

const nonblock = 0

// peek leaves everything to the ordinary way of reading.
func peek(string, []byte) (head []byte, size int64, ok bool, err error) { return nil, 0, false, nil }
