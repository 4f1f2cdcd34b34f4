// Streamlit reports either what is dragged over in a chart or what is clicked. This reports clicks on the marks of a chart
// that takes drags, by the number that each mark carries.

const LOOK = 300; // ms between two looks for a chart that is drawn anew

function mount({ data, parentElement, setTriggerValue }) {
  if (!parentElement.querySelector('.clicks') || !data) return undefined;
  let chart;
  const report = (event) => {
    const number = event.points?.[0]?.customdata;
    if (typeof number === 'number') setTriggerValue('clicked', number);
  };
  const timer = setInterval(() => {
    const there = document.querySelector(`.st-key-${CSS.escape(data.chart)} .js-plotly-plot`);
    if (there === chart || !there?.on) return;
    chart = there;
    chart.on('plotly_click', report);
  }, LOOK);
  return () => {
    clearInterval(timer);
    chart?.removeListener?.('plotly_click', report);
  };
}
