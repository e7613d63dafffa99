package theme

// A palette gives each meaning its ink.
type palette struct {
	accent, user, good, bad, warn, info, border ink
	added, removed, addedWord, removedWord      ink
	code, keyword, kind, function               ink
	text, number, comment                       ink
	plan, edit                                  ink
}

// palettes are the themes. The daltonized ones tell added from removed, and good from bad, by blue and orange, which people
// who see red and green alike can tell apart.
func palettes() map[string]palette {
	dark := palette{
		accent: ink{"#e0995e", 11}, user: ink{"#b9c0cc", 7}, good: ink{"#6fbf73", 10}, bad: ink{"#ef6b73", 9}, warn: ink{"#e5c07b", 11}, info: ink{"#7aa2f7", 12},
		border: ink{"#5c6370", 8},
		added:  ink{"#1f3a26", 2}, removed: ink{"#45222a", 1}, addedWord: ink{"#2f6b3c", 10}, removedWord: ink{"#80333f", 9},
		code: ink{"#8bb8f0", 14}, keyword: ink{"#c792ea", 13}, kind: ink{"#56b6c2", 14}, function: ink{"#82aaff", 12},
		text: ink{"#a5d6a7", 10}, number: ink{"#f0a36b", 11}, comment: ink{"#7f8796", 8},
		plan: ink{"#56b6c2", 14}, edit: ink{"#b58df0", 13},
	}
	light := palette{
		accent: ink{"#a8541c", 3}, user: ink{"#4b5563", 8}, good: ink{"#1f7a34", 2}, bad: ink{"#b3202c", 1}, warn: ink{"#8a6100", 3}, info: ink{"#2355c4", 4},
		border: ink{"#9aa1ad", 7},
		added:  ink{"#d9f2df", 10}, removed: ink{"#fbdfe1", 9}, addedWord: ink{"#a3dcb1", 2}, removedWord: ink{"#f2a9af", 1},
		code: ink{"#1d4fa8", 4}, keyword: ink{"#7b2fb5", 5}, kind: ink{"#0e7480", 6}, function: ink{"#2355c4", 4},
		text: ink{"#2b6e2f", 2}, number: ink{"#a8541c", 3}, comment: ink{"#6b7280", 8},
		plan: ink{"#0e7480", 6}, edit: ink{"#7b2fb5", 5},
	}
	return map[string]palette{
		"dark": dark, "light": light,
		"dark-daltonized":  dark.daltonized(ink{"#6aa9ff", 12}, ink{"#ffa94d", 11}, ink{"#16345c", 4}, ink{"#54340f", 3}, ink{"#265a9e", 12}, ink{"#8f5a18", 11}),
		"light-daltonized": light.daltonized(ink{"#1552b0", 4}, ink{"#a34f00", 3}, ink{"#d6e6ff", 12}, ink{"#ffe6c7", 11}, ink{"#9dc3fb", 4}, ink{"#ffc47d", 3}),
		"dark-ansi":        dark.basic(), "light-ansi": light.basic(),
	}
}

func (p palette) daltonized(good, bad, added, removed, addedWord, removedWord ink) palette {
	p.good, p.bad, p.added, p.removed, p.addedWord, p.removedWord = good, bad, added, removed, addedWord, removedWord
	p.text = good
	return p
}

// basic uses only the 16 colours, which follow the user's own choice for the terminal.
func (p palette) basic() palette {
	for _, c := range []*ink{&p.accent, &p.user, &p.good, &p.bad, &p.warn, &p.info, &p.border, &p.added, &p.removed, &p.addedWord, &p.removedWord,
		&p.code, &p.keyword, &p.kind, &p.function, &p.text, &p.number, &p.comment, &p.plan, &p.edit} {
		c.rgb = ""
	}
	return p
}
