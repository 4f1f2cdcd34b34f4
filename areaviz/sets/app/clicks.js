// Streamlit reports every selected mark of a chart, and a drag can select 20,000. This component
// reports only the outlines of a drag, and for a click the number of the clicked mark.

const LOOK = 300; // ms between two checks for a redrawn chart
const MOST_CORNERS = 200; // of an outline drawn by hand

function corners(path) {
  const pairs = path.replace(/[MZ]/g, '').split('L').map((pair) => pair.split(',').map(Number));
  const step = Math.ceil(pairs.length / MOST_CORNERS);
  const kept = pairs.filter((_, place) => place % step === 0);
  return { x: kept.map((pair) => pair[0]), y: kept.map((pair) => pair[1]) };
}

function outline(selection) {
  if (selection.type === 'path') return corners(selection.path);
  return { x: [selection.x0, selection.x1], y: [selection.y0, selection.y1] };
}

function mount({ data, parentElement, setStateValue, setTriggerValue }) {
  if (!parentElement.querySelector('.clicks') || !data) return undefined;
  let chart;
  let sent = '[]';
  const click = (event) => {
    const number = event.points?.[0]?.customdata;
    if (typeof number === 'number') setTriggerValue('clicked', number);
  };
  const report = (outlines) => {
    if (JSON.stringify(outlines) === sent) return;
    sent = JSON.stringify(outlines);
    setStateValue('outlines', outlines);
  };
  const drag = (event) => {
    if (event?.selections) report(event.selections.map(outline));
  };
  const deselect = () => report([]);
  const timer = setInterval(() => {
    const there = document.querySelector(`.st-key-${CSS.escape(data.chart)} .js-plotly-plot`);
    if (there === chart || !there?.on) return;
    chart = there;
    chart.on('plotly_click', click);
    chart.on('plotly_selected', drag);
    chart.on('plotly_deselect', deselect);
  }, LOOK);
  return () => {
    clearInterval(timer);
    chart?.removeListener?.('plotly_click', click);
    chart?.removeListener?.('plotly_selected', drag);
    chart?.removeListener?.('plotly_deselect', deselect);
  };
}
