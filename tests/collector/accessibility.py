# SPDX-License-Identifier: Apache-2.0
#
# What a page has to have for people who do not see it, see little of it, hear it read, or
# have no mouse: the rules of WCAG 2.2, levels A and AA, that can be decided from a page
# as the browser shows it. The words before a colon are the name by which the axe engine
# knows a rule, where it has it. Beyond them a page has one main heading, leaves out no
# level, and all of its text stands in landmarks.

CHECK = r"""
(() => {
  const wrong = [];
  const say = (what, e) => wrong.push(what + ': ' +
      (e ? e.outerHTML.slice(0, 120).replace(/\s+/g, ' ') : ''));
  const style = e => getComputedStyle(e);
  const shown = e => e.getClientRects().length > 0 && e.checkVisibility() &&
      style(e).visibility !== 'hidden';
  const all = s => [...document.querySelectorAll(s)];
  const FIELDS = 'input:not([type=hidden]),select,textarea';
  const PRESSED = 'a[href],button,summary,' + FIELDS;
  const REACHED = PRESSED + ',[tabindex]:not([tabindex="-1"])';

  // The document.
  if (!/^[a-z]{2,3}(-[A-Za-z0-9]+)*$/.test(document.documentElement.lang))
    say('html-has-lang', document.documentElement.cloneNode());
  if (!document.title.trim()) say('document-title');
  for (const e of all('meta[name=viewport]'))
    if (/user-scalable\s*=\s*(no|0)|maximum-scale\s*=\s*[01](\.|,|\s|$)/.test(e.content))
      say('meta-viewport', e);
  for (const e of all('meta[http-equiv=refresh],blink,marquee')) say('moves alone', e);
  for (const e of all('[style]')) say('avoid-inline-spacing', e);
  for (const e of all('.skip'))
    if (!document.querySelector(e.getAttribute('href'))) say('skip-link', e);

  // Headings and landmarks.
  if (all('h1').filter(shown).length !== 1) say('not one h1');
  let level = 0;
  for (const h of all('h1,h2,h3,h4,h5,h6').filter(shown)) {
    const now = Number(h.tagName[1]);
    if (now > level + 1) say('heading-order', h);
    if (!h.innerText.trim()) say('empty-heading', h);
    level = now;
  }
  if (all('main').length !== 1) say('not one main');
  for (const e of document.body.children)
    if (shown(e) && e.innerText.trim() && !e.matches('main,header,footer,nav,.skip'))
      say('region', e);
  const navs = all('nav').filter(shown).map(e => e.getAttribute('aria-label') || '');
  if (new Set(navs).size !== navs.length) say('landmark-unique, ' + navs);

  // Names. A tooltip is none: it is not shown to who does not point.
  const words = e => (e.innerText || e.textContent || '').trim();
  const referred = (e, attribute) => (e.getAttribute(attribute) || '').split(/\s+/)
      .filter(Boolean).map(id => document.getElementById(id));
  const named = e => (e.labels && [...e.labels].some(l => words(l))) ||
      (e.getAttribute('aria-label') || '').trim() ||
      referred(e, 'aria-labelledby').some(l => l && words(l)) ||
      (e.matches('a,button,summary,[role=img]') && (words(e) ||
          e.querySelector('title,[alt]:not([alt=""])')));
  const rule = e => e.matches('a') ? 'link-name' : e.matches('button') ? 'button-name' :
      e.matches('summary') ? 'summary-name' : e.matches('select') ? 'select-name' : 'label';
  for (const e of all(PRESSED)) {
    if (!shown(e)) continue;
    if (!named(e)) say(rule(e), e);
    if (e.labels && e.labels.length > 1) say('form-field-multiple-labels', e);
    const label = (e.getAttribute('aria-label') || '').toLowerCase();
    if (label && e.matches('a,button,summary') && words(e) &&
        !label.includes(words(e).toLowerCase()))
      say('label-content-name-mismatch', e);
  }
  for (const e of all('img,svg,object,canvas,video,audio,area,iframe'))
    if (shown(e) && !e.closest('[aria-hidden=true]') && !e.hasAttribute('alt') &&
        !e.querySelector('title') && !e.getAttribute('aria-label') &&
        !(e.closest('[role=img]') && named(e.closest('[role=img]'))))
      say('image-alt', e);
  for (const e of all('[role=img]')) if (shown(e) && !named(e)) say('role-img-alt', e);
  for (const e of all('[autocomplete]'))
    if (!/^(on|off|name|email|username|current-password|new-password)$/
        .test(e.getAttribute('autocomplete')))
      say('autocomplete-valid', e);

  // Ids, labels and keys.
  const once = (what, list) => {
    for (const one of new Set(list))
      if (list.filter(other => other === one).length > 1) say(what + ', ' + one);
  };
  once('duplicate-id', all('[id]').map(e => e.id));
  once('accesskeys', all('[accesskey]').map(e => e.accessKey));
  for (const e of all('label[for]'))
    if (!document.getElementById(e.htmlFor)) say('a label of nothing', e);

  // Lists and tables.
  const within = (e, s) => e.parentElement && e.parentElement.matches(s);
  for (const e of all('ul,ol'))
    if ([...e.children].some(c => c.tagName !== 'LI') ||
        [...e.childNodes].some(c => c.nodeType === 3 && c.data.trim()))
      say('list', e);
  for (const e of all('li')) if (!within(e, 'ul,ol,menu')) say('listitem', e);
  for (const e of all('dl'))
    for (const c of e.children) {
      const tags = (c.tagName === 'DIV' ? [...c.children] : [c]).map(x => x.tagName);
      if (tags.some(t => t !== 'DT' && t !== 'DD') ||
          (c.tagName === 'DIV' && (tags[0] !== 'DT' || !tags.includes('DD'))))
        say('definition-list', c);
    }
  for (const e of all('dt,dd'))
    if (!within(e, 'dl') && !(within(e, 'div') && within(e.parentElement, 'dl')))
      say('dlitem', e);
  for (const e of all('table')) {
    if (!shown(e)) continue;
    if (!e.querySelector('th')) say('a table without headings', e);
    for (const th of e.querySelectorAll('th')) {
      const row = th.closest('tr');
      if (th.scope && !['row', 'col', 'rowgroup', 'colgroup'].includes(th.scope))
        say('scope-attr-valid', th);
      const column = [...e.rows].some(r => r.cells[th.cellIndex]?.tagName === 'TD');
      if (words(th) && !column && !row.querySelector('td')) say('th-has-data-cells', th);
    }
    for (const td of e.querySelectorAll('[headers]'))
      if (referred(td, 'headers').some(h => !h || h.closest('table') !== e))
        say('td-headers-attr', td);
  }

  // Roles and aria.
  const ROLES = { img: [], list: [], listitem: [], region: [], search: [], status: [],
                  alert: [], note: [], group: [], navigation: [], button: [], link: [],
                  heading: ['aria-level'], meter: ['aria-valuenow'],
                  checkbox: ['aria-checked'], table: [], presentation: [], none: [] };
  const TRUTH = ['true', 'false'];
  const ARIA = { label: null, labelledby: 'ids', describedby: 'ids', controls: 'ids',
                 details: 'ids', hidden: TRUTH, expanded: TRUTH, pressed: TRUTH,
                 disabled: TRUTH, busy: TRUTH, checked: [...TRUTH, 'mixed'],
                 live: ['off', 'polite', 'assertive'], level: 'number',
                 valuenow: 'number', valuemin: 'number', valuemax: 'number',
                 current: [...TRUTH, 'page', 'step', 'location', 'date', 'time'],
                 sort: ['ascending', 'descending', 'none', 'other'] };
  for (const e of all('*')) {
    const role = e.getAttribute('role');
    if (role !== null && !(role in ROLES)) say('aria-roles', e);
    for (const needed of ROLES[role] || [])
      if (!e.hasAttribute(needed)) say('aria-required-attr', e);
    for (const { name, value } of e.attributes) {
      if (!name.startsWith('aria-')) continue;
      const kind = ARIA[name.slice(5)];
      if (kind === undefined) say('aria-valid-attr', e);
      else if (Array.isArray(kind) ? !kind.includes(value)
               : kind === 'ids' ? referred(e, name).some(i => !i) || !value.trim()
               : kind === 'number' ? !/^-?[\d.]+$/.test(value) : !value.trim())
        say('aria-valid-attr-value', e);
    }
    if (e.hasAttribute('aria-label') && role === null &&
        e.matches('div,span,p,b,i,em,strong,small,code,pre,li,dt,dd,time,label'))
      say('aria-prohibited-attr', e);
  }
  for (const e of all('[aria-hidden=true]'))
    if (e.matches(REACHED) || e.querySelector(REACHED) || e === document.body)
      say('aria-hidden-focus', e);

  // The keyboard.
  for (const e of all('[tabindex]')) if (e.tabIndex > 0) say('tabindex', e);
  for (const e of all('a,button,[role=img],[role=button],[role=meter],meter'))
    if (e.querySelector(REACHED)) say('nested-interactive', e);
  for (const e of all('body *')) {
    if (!shown(e) || e.matches('svg *')) continue;
    const scrolls = (over, more) => /auto|scroll/.test(over) && more > 13;
    if ((scrolls(style(e).overflowX, e.scrollWidth - e.clientWidth) ||
         scrolls(style(e).overflowY, e.scrollHeight - e.clientHeight)) &&
        !e.matches(REACHED) && ![...e.querySelectorAll(REACHED)].some(shown))
      say('scrollable-region-focusable', e);
  }

  // Colours: text stands out from what is behind it (4.5 to 1, large text 3 to 1), and a
  // link within text from that text, by more than its colour or by 3 to 1.
  const parse = c => { const n = c.match(/[\d.]+/g).map(Number);
                       return c.startsWith('color(srgb')
                           ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1]
                           : [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const behind = e => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const c = parse(style(at).backgroundColor);
      if (c[3] > 0) layers.push(c);
      if (c[3] === 1) break;
    }
    return layers.reverse().reduce((b, c) => over(c, b),
                                   dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const light = c => {
    const [r, g, b] = c.slice(0, 3).map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const contrast = (e, s) => {
    const back = behind(e);
    let opacity = Number(s.opacity);
    for (let at = s === style(e) ? e.parentElement : e; at; at = at.parentElement)
      opacity *= Number(style(at).opacity);
    const ink = parse(s.color);
    ink[3] *= opacity;
    const size = parseFloat(s.fontSize), bold = Number(s.fontWeight) >= 700;
    const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    const found = ratio(over(ink, back), back);
    if (found < least - 0.005)
      say('color-contrast ' + found.toFixed(2) + ' of ' + s.color + ' on ' +
          back.slice(0, 3).map(Math.round), e);
  };
  const seen = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !shown(e) || seen.has(e) ||
        e.closest('[disabled]'))
      continue;
    seen.add(e);
    contrast(e, style(e));
  }
  for (const e of all(FIELDS)) {
    if (!shown(e) || e.disabled) continue;
    contrast(e, style(e));
    if (e.placeholder) contrast(e, getComputedStyle(e, '::placeholder'));
  }
  const block = e => {
    while (/^(inline|contents)$/.test(style(e).display)) e = e.parentElement;
    return e;
  };
  for (const e of all('a[href]')) {
    if (!shown(e) || !words(e) || style(e).display !== 'inline') continue;
    const around = block(e.parentElement);
    if (around.matches('nav,header')) continue;
    const links = [...around.querySelectorAll('a[href]')].map(words).join('');
    const rest = words(around).replace(/\s+/g, '').length - links.replace(/\s+/g, '').length;
    if (rest <= links.replace(/\s+/g, '').length) continue;
    const ours = style(e), theirs = style(e.parentElement);
    const marked = ours.textDecorationLine !== 'none' ||
        ours.fontWeight !== theirs.fontWeight || ours.fontStyle !== theirs.fontStyle ||
        ours.backgroundColor !== 'rgba(0, 0, 0, 0)' || parseFloat(ours.borderBottomWidth);
    if (!marked && ratio(parse(ours.color), parse(theirs.color)) < 3)
      say('link-in-text-block', e);
  }

  // What is pressed has 24 by 24 pixels, or a circle of that size around its middle that
  // meets no other; links within text are as high as their line.
  const targets = all(PRESSED).filter(shown).filter(e => {
    const around = block(e.parentElement);
    return !(e.matches('a') && style(e).display === 'inline' &&
             words(around).length > words(e).length);
  }).map(e => ({ e, r: e.getBoundingClientRect() })).filter(t => t.r.width && t.r.right > 0);
  const small = t => t.r.width < 23.9 || t.r.height < 23.9;
  const middle = t => [t.r.left + t.r.width / 2, t.r.top + t.r.height / 2];
  for (const t of targets.filter(small)) {
    const [x, y] = middle(t);
    for (const o of targets) {
      if (o === t || o.e.contains(t.e) || t.e.contains(o.e)) continue;
      const [ox, oy] = middle(o);
      const dx = Math.max(o.r.left - x, 0, x - o.r.right);
      const dy = Math.max(o.r.top - y, 0, y - o.r.bottom);
      if (small(o) ? Math.hypot(x - ox, y - oy) < 23.9 : Math.hypot(dx, dy) < 11.9) {
        say('target-size ' + Math.round(t.r.width) + 'x' + Math.round(t.r.height), t.e);
        break;
      }
    }
  }
  return wrong;
})()
"""


def problems(browser):
    """What is wrong with the page that is shown."""
    return browser.evaluate(CHECK)
