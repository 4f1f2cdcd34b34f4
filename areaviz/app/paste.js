// Streamlit's file uploader accepts only dropped and chosen files. This passes a pasted picture on like a chosen file.

function mount({ data, parentElement }) {
  const line = parentElement.querySelector('.paste');
  if (!line || !data) return undefined;
  const listeners = new AbortController();
  document.addEventListener('paste', (event) => {
    const input = document.querySelector(`.st-key-${CSS.escape(data.uploader)} input[type=file]`);
    const picture = [...(event.clipboardData?.files ?? [])].find((file) => file.type.startsWith('image/'));
    if (!input || !picture) return;
    const chosen = new DataTransfer();
    chosen.items.add(picture);
    input.files = chosen.files;
    input.dispatchEvent(new Event('change', { bubbles: true }));
    event.preventDefault();
  }, listeners);
  return () => listeners.abort();
}
