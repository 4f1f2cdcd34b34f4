// The app may be started again while a page is open. Streamlit's browser side then connects again and waits for the
// next action. This component asks at once, so that the new app knows the choices, and keeps typed text that was not sent.

const FIELDS = '.stTextArea textarea, .stTextInput input:not([type=password])';

class RestartRecovery {
  constructor() {
    this.drafts = [];
    this.writing = null; // the name of the field that is being written in, until its text is taken
    this.away = false;
    this.app = document.querySelector('[data-testid="stApp"]');
    new MutationObserver(() => this.look()).observe(this.app, {
      attributeFilter: ['data-test-connection-state', 'data-test-script-state'],
    });
    // After the first key press, the text in a field is newer than the kept text.
    document.addEventListener('input', (event) => { if (event.isTrusted) this.write(event.target); }, true);
    document.addEventListener('focusout', () => { if (!this.away) this.writing = null; }, true);
    document.addEventListener('keydown', ({ key, ctrlKey, metaKey }) => {
      if (key === 'Enter' && (ctrlKey || metaKey)) this.writing = null;
    }, true);
  }

  write(field) {
    this.drafts = [];
    this.writing = field.matches?.(FIELDS) ? nameOf(field) : null;
  }

  look() {
    const { testConnectionState: connection, testScriptState: script } = this.app.dataset;
    if (connection !== 'CONNECTED') {
      if (!this.away) this.drafts = this.typed();
      this.away = true;
    } else if (this.away) {
      this.away = false;
      // A window that says that nothing answers takes the focus, and Streamlit takes that for the end of writing.
      this.tell(this.writing ?? '');
    } else if (script === 'notRunning') {
      this.drafts.forEach((draft) => this.restore(draft));
    }
  }

  /** The texts in the fields that have a name. */
  typed() {
    const named = [...document.querySelectorAll(FIELDS)].map((field) => ({ name: nameOf(field), text: field.value }));
    return named.filter(({ name }) => name);
  }

  restore({ name, text }) {
    const field = document.querySelector(`.${CSS.escape(name)} :is(${FIELDS})`);
    if (!field || field.disabled || field.value === text) return;
    // React hears of a value only if it was set by the element's own setter.
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, text);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

/** The class by which Streamlit marks the widget of a key. */
function nameOf(field) {
  const marked = field.closest('[class*="st-key-"]');
  return marked && [...marked.classList].find((one) => one.startsWith('st-key-'));
}

function mount({ parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.restart_recovery');
  if (!root) return;
  root.model ??= new RestartRecovery();
  root.model.tell = (writing) => setTriggerValue('back', { writing });
}
