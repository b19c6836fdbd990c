/** How well `query` fits `text`: 0 is not at all; starts of words count more. Case does not matter. */
export function fuzzy(query: string, text: string): number {
  const q = query.toLowerCase().trim();
  if (q === '') return 1;
  const t = text.toLowerCase();
  const whole = t.indexOf(q);
  if (whole === 0) return 1000 - t.length * 0.1;
  if (whole > 0) return (/\W/.test(t[whole - 1] ?? '') ? 800 : 500) - t.length * 0.1;
  let score = 0;
  let at = 0;
  let streak = 0;
  for (const ch of q) {
    if (ch === ' ') continue;
    const found = t.indexOf(ch, at);
    if (found < 0) return 0;
    streak = found === at ? streak + 1 : 0;
    score += 1 + streak * 2 + (found === 0 || /\W/.test(t[found - 1] ?? '') ? 6 : 0);
    at = found + 1;
  }
  return score;
}
