package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// withChecksums gives every chunk of a PNG the checksum that it should have. Programs that write PNGs by hand get them wrong, and most viewers do
// not mind; what is sent to a model is right.
func withChecksums(data []byte) []byte {
	const signature, around = 8, 12 // bytes before the first chunk, and of a chunk besides its data
	data = bytes.Clone(data)
	for rest := data[min(signature, len(data)):]; len(rest) >= around; {
		length := int64(binary.BigEndian.Uint32(rest))
		if length > int64(len(rest)-around) {
			break
		}
		end := 8 + length
		binary.BigEndian.PutUint32(rest[end:], crc32.ChecksumIEEE(rest[4:end]))
		rest = rest[end+4:]
	}
	return data
}
