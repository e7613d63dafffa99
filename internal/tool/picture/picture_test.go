package picture

import (
	"bytes"
	"image"
	"image/png"
	"testing"
)

func encoded(t *testing.T, width, height int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWrongChecksumsAreMended(t *testing.T) {
	t.Parallel()
	data := encoded(t, 20, 10)
	for _, broken := range []int{len(data) - 1, len(data) - 13} { // of the last chunk, and of the one before it
		bad := bytes.Clone(data)
		bad[broken] ^= 0xff
		p, err := Prepare(bad)
		if err != nil || !bytes.Equal(p.Data, data) {
			t.Errorf("byte %d: %v", broken, err)
		}
	}
}

func TestDamageIsAnErrorAndNoMore(t *testing.T) {
	t.Parallel()
	data := encoded(t, 200, 100)
	for cut := range data {
		if _, err := Prepare(data[:cut]); err == nil && cut < len(data)-12 { // without its last chunk a picture is still whole
			t.Fatalf("%d of %d bytes passed as a picture", cut, len(data))
		}
	}
	hostile := bytes.Clone(data)
	copy(hostile[8:], []byte{0xff, 0xff, 0xff, 0xff})
	if _, err := Prepare(hostile); err == nil {
		t.Error("a chunk longer than the file passed")
	}
}
