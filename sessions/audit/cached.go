package audit

import "golang.org/x/mod/sumdb/tlog"

// cached reads each hash of the log once: proofs of neighbours share most of them.
type cached struct {
	from  tlog.HashReader
	known map[int64]tlog.Hash
}

// ReadHashes implements tlog.HashReader.
func (c *cached) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var missing []int64
	for _, x := range indexes {
		if _, ok := c.known[x]; !ok {
			missing = append(missing, x)
		}
	}
	if len(missing) > 0 {
		read, err := c.from.ReadHashes(missing)
		if err != nil {
			return nil, err
		}
		for i, x := range missing {
			c.known[x] = read[i]
		}
	}
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		out[i] = c.known[x]
	}
	return out, nil
}
