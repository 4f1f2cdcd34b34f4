// Measure an opened page: places and sizes, words, names, text sizes and contrasts. Shadow roots of
// components are read too.

(asked) => {
  const CONTROLS = 'a[href], button, input, select, textarea, summary, [role=slider], [role=listbox], [role=combobox]';
  const GROUPS =
    '[data-testid=stButtonGroup], [data-testid=stSelectbox], [data-testid=stTextInput], [data-testid=stTextArea], [data-testid=stSlider], ' +
    '[data-testid=stFileUploader], [data-testid=stNumberInput], .samples, .thumbnails, .legend, .rows, [role=radiogroup], ' +
    // The parts of one picture: words with their lanes, facts of a story, steps of a drawing.
    '.strip .plane, .hops .board, .points .steps';
  const EXPLAINS = '[data-testid=stCaptionContainer], [data-testid=stMarkdownContainer] p, .say, .hint, .how';

  const everything = [];
  (function walk(root) {
    for (const one of root.querySelectorAll('*')) {
      everything.push(one);
      if (one.shadowRoot) walk(one.shadowRoot);
    }
  })(document);

  // Streamlit writes the key of a container into its class: the row of samples is
  // "st-key-PAGE_try".
  for (const one of everything) if ([...one.classList].some((name) => /^st-key-[a-z_]+_try$/.test(name))) one.classList.add('samples');

  const parentOf = (one) => one.parentElement ?? one.getRootNode().host ?? null;
  const above = (one, selector) => {
    for (let at = one; at; at = parentOf(at)) if (at.matches(selector)) return at;
    return null;
  };
  const box = (one) => {
    const { left, top, right, bottom, width, height } = one.getBoundingClientRect();
    return { left, top, right, bottom, width, height };
  };
  const isVisible = (one) => {
    const { width, height } = one.getBoundingClientRect();
    return width > 2 && height > 2 && one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  };
  const find = (selector) => (selector ? everything.filter((one) => one.matches(selector) && isVisible(one)) : []);
  const union = (found) => {
    const boxes = found.map(box);
    const [left, top] = [Math.min(...boxes.map((b) => b.left)), Math.min(...boxes.map((b) => b.top))];
    const [right, bottom] = [Math.max(...boxes.map((b) => b.right)), Math.max(...boxes.map((b) => b.bottom))];
    return found.length ? { left, top, right, bottom, width: right - left, height: bottom - top } : null;
  };

  /** The accessible name of a control. */
  const named = (one) => {
    const label = one.getAttribute('aria-label') || one.labels?.[0]?.textContent;
    const ids = (one.getAttribute('aria-labelledby') ?? '').split(' ').filter(Boolean);
    const root = one.getRootNode();
    const texts = ids.map((id) => root.getElementById?.(id)?.textContent ?? '').join(' ').trim();
    return (texts || label || one.innerText || one.querySelector?.('img')?.alt || one.title || '').trim().replace(/\s+/g, ' ');
  };
  const controls = everything.filter((one) => one.matches(CONTROLS) && isVisible(one) && !above(one, '.menu') && !one.matches('[data-testid=stSelectbox] button'));
  const groupsOf = (found) => new Set(found.map((one) => above(one, GROUPS) ?? one)).size;
  const within = (found, top, bottom) => found.filter((one) => box(one).top >= top && box(one).bottom <= bottom + 1);

  // Colours: a CSS colour as [red, green, blue, alpha], and WCAG's contrast of two of them.
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const cache = new Map();
  const rgba = (colour) => {
    if (!cache.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      cache.set(colour, [r, g, b, a / 255]);
    }
    return cache.get(colour);
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const linear = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const fillOf = (one) => {
    const style = getComputedStyle(one);
    const isShape = one.matches('rect, circle, ellipse, polygon');
    const colour = rgba(isShape ? style.fill : style.backgroundColor);
    return [...colour.slice(0, 3), colour[3] * Number(style.opacity) * (isShape ? Number(style.fillOpacity) : 1)];
  };
  /**
   * Shapes and bars below the middle of a text in its parent, which are the background of labels in
   * pictures.
   */
  const drawnBelow = (one) => {
    const { left, top, width, height } = box(one);
    const [x, y] = [left + width / 2, top + height / 2];
    const isUnder = (other) => { const b = box(other); return b.left <= x && x <= b.right && b.top <= y && y <= b.bottom; };
    const found = [];
    for (let at = one.previousElementSibling; at; at = at.previousElementSibling) if (isUnder(at) && isVisible(at)) found.unshift(fillOf(at));
    return found;
  };
  const ground = (one) => {
    const layers = [];
    for (let at = one; at; at = parentOf(at)) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== 'none') return null;
      const colour = rgba(style.backgroundColor);
      if (at === one) layers.push(...drawnBelow(one));
      if (colour[3] > 0) layers.unshift(colour);
      if (colour[3] === 1) break;
    }
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const contrast = (one) => {
    const style = getComputedStyle(one);
    const below = ground(one);
    if (!below) return null;
    let colour = rgba(one instanceof SVGElement ? style.fill : style.color);
    for (let at = one; at; at = parentOf(at)) colour = [...colour.slice(0, 3), colour[3] * Number(getComputedStyle(at).opacity)];
    const [light, dark] = [luminance(over(colour, below)), luminance(below)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };

  const texts = [];
  const small = [];
  const faint = [];
  const paragraphs = [];
  let words = 0;
  for (const one of everything) {
    const own = [...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent).join(' ').trim();
    if (!own || one.matches('style, script, title, desc, option, [data-testid=stIconMaterial]') || !isVisible(one)) continue;
    if (above(one, '.live, .katex-html, [data-testid=stSliderThumbValue]') || above(one, '.menu')) continue;
    if (!above(one, '[data-side=memory] .rows, [data-side=query] .rows')) words += own.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    const matrix = one instanceof SVGGraphicsElement ? one.getScreenCTM() : null;
    const scale = matrix ? Math.hypot(matrix.a, matrix.b) : 1;
    const size = parseFloat(getComputedStyle(one).fontSize) * scale;
    if (size < 13.99) small.push(`${size.toFixed(1)} px: ${own.slice(0, 40)}`);
    const ratio = above(one, ':disabled, [aria-disabled=true]') ? null : contrast(one);
    const least = above(one, EXPLAINS) && !above(one, "a, button, summary, [data-testid=stSlider]") ? 7 : 4.5;
    if (ratio !== null && ratio < least - 0.005) faint.push(`${ratio.toFixed(1)} of ${least}: ${own.slice(0, 40)}`);
    texts.push(own);
  }
  for (const one of everything) {
    const text = one.matches('p, li, figcaption') && isVisible(one) && !above(one, '.live, .menu') ? one.innerText.trim() : '';
    if (text.split(/\s+/).length >= 6) paragraphs.push(text);
  }

  const title = everything.find((one) => one.matches('h1') && isVisible(one));
  const picture = union(find(asked.picture));
  const names = controls
    .filter((one) => !one.matches('[role=listbox], input[type=file]') && !above(one, '.rows, [data-testid=stTooltipIcon]'))
    .map(named).filter(Boolean);
  const twice = (all) => [...new Set(all.filter((one, at) => all.indexOf(one) !== at))];
  const between = title && picture ? within(controls.filter((one) => !one.matches('[role=listbox]')), box(title).bottom, picture.top) : [];
  const card = find('.st-key-card')[0];
  const inCard = card ? controls.filter((one) => above(one, '.st-key-card') && !one.matches('[role=listbox], summary')) : [];
  const main = document.querySelector('[data-testid=stMain]');
  return {
    lit: find(asked.lit).map(box),
    input: union(find(asked.input)),
    picture,
    groups: groupsOf(between),
    targets: between.length,
    card_groups: groupsOf(inCard),
    height: Math.round(main.scrollHeight),
    scheme: getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme,
    words,
    twice: [...twice(names).map((name) => `control “${name}”`), ...twice(paragraphs)],
    small: [...new Set(small)],
    faint: [...new Set(faint)],
    sideways: document.documentElement.scrollWidth - innerWidth + Math.max(0, main.scrollWidth - main.clientWidth),
    narrow: controls
      .filter((one) => one.matches('button, summary, [role=combobox]') && (box(one).height < 31.5 || box(one).width < 31.5))
      .map((one) => `${Math.round(box(one).width)} x ${Math.round(box(one).height)}: ${named(one).slice(0, 40)}`),
    menu: everything.some((one) => isVisible(one) && getComputedStyle(one, '::after').content.includes('Menu')),
    pictures: find('img, canvas, video').map(box),
    parts: { title: title ? box(title) : null, card: card ? box(card) : null },
  };
}
