# SPDX-License-Identifier: Apache-2.0
#
# What a page has to have for people who do not see it, see little of it, or hear it read:
# one main heading and no level left out, landmarks that hold all text, a name for each
# field, button, link and picture, no id twice, and text that stands out from what is
# behind it (WCAG 2.2 AA: 4.5 to 1, large text 3 to 1).

CHECK = r"""
(() => {
  const wrong = [];
  const say = (what, e) => wrong.push(what + ': ' +
      (e ? e.outerHTML.slice(0, 120).replace(/\s+/g, ' ') : ''));
  const shown = e => e.getClientRects().length > 0 && e.checkVisibility() &&
      getComputedStyle(e).visibility !== 'hidden';
  const all = s => [...document.querySelectorAll(s)];

  if (!document.documentElement.lang) say('no language');
  if (!document.title.trim()) say('no title');
  if (all('h1').filter(shown).length !== 1) say('not one h1');
  let level = 0;
  for (const h of all('h1,h2,h3,h4,h5,h6').filter(shown)) {
    const now = Number(h.tagName[1]);
    if (now > level + 1) say('a heading skips a level', h);
    level = now;
  }

  if (all('main').length !== 1) say('not one main');
  for (const e of document.body.children)
    if (shown(e) && e.innerText.trim() && !e.matches('main,header,footer,nav,.skip'))
      say('text in no landmark', e);

  const named = e => (e.labels && [...e.labels].some(l => l.innerText.trim())) ||
      (e.getAttribute('aria-label') || '').trim() || e.getAttribute('aria-labelledby') ||
      (e.title || '').trim() ||
      (e.matches('a,button,summary,[role=img]') && (e.innerText.trim() ||
          e.querySelector('title,[alt]')));
  for (const e of all("input:not([type=hidden]),select,textarea,a[href],button,summary"))
    if (shown(e) && !named(e)) say('no name', e);
  for (const e of all('img,svg'))
    if (shown(e) && !e.closest('[aria-hidden=true]') && !e.hasAttribute('alt') &&
        !e.querySelector('title') && !e.getAttribute('aria-label') &&
        !(e.closest('[role=img]') && named(e.closest('[role=img]'))))
      say('a picture without words', e);
  for (const e of all('table'))
    if (shown(e) && !e.querySelector('th')) say('a table without headings', e);
  const ids = all('[id]').map(e => e.id);
  for (const id of new Set(ids))
    if (ids.filter(i => i === id).length > 1) say('an id twice, ' + id);
  for (const e of all('label[for]'))
    if (!document.getElementById(e.htmlFor)) say('a label of nothing', e);

  const parse = c => { const n = c.match(/[\d.]+/g).map(Number);
                       return c.startsWith('color(srgb')
                           ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1]
                           : [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const behind = e => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const c = parse(getComputedStyle(at).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    return layers.reverse().reduce((b, c) => over(c, b),
                                   dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const light = c => {
    const [r, g, b] = c.slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const seen = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !shown(e) || seen.has(e) ||
        e.closest('[disabled]'))
      continue;
    seen.add(e);
    const s = getComputedStyle(e), back = behind(e);
    let opacity = 1;
    for (let at = e; at; at = at.parentElement)
      opacity *= Number(getComputedStyle(at).opacity);
    const ink = parse(s.color);
    ink[3] *= opacity;
    const [a, b] = [light(over(ink, back)), light(back)].sort((x, y) => y - x);
    const size = parseFloat(s.fontSize), bold = Number(s.fontWeight) >= 700;
    const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < least - 0.005)
      say('contrast ' + ratio.toFixed(2) + ' of ' + s.color + ' on ' +
          back.slice(0, 3).map(Math.round), e);
  }
  return wrong;
})()
"""


def problems(browser):
    """What is wrong with the page that is shown."""
    return browser.evaluate(CHECK)
