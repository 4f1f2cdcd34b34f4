// The app may be restarted while a page is open. Streamlit's browser code then connects again and
// waits for the next action. This component sends the user's choices to the new app at once. It
// also keeps typed text that was not sent yet.

const FIELDS = '.stTextArea textarea, .stTextInput input:not([type=password])';

class RestartRecovery {
  constructor() {
    this.drafts = [];
    this.writing = null; // name of the field in which the user writes, until its text is sent
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
      // The dialog about a lost connection takes the focus, which Streamlit treats as the end of
      // writing.
      this.tell(this.writing ?? '');
    } else if (script === 'notRunning') {
      this.drafts.forEach((draft) => this.restore(draft));
    }
  }

  /** The texts of all fields that have a name. */
  typed() {
    const named = [...document.querySelectorAll(FIELDS)].map((field) => ({ name: nameOf(field), text: field.value }));
    return named.filter(({ name }) => name);
  }

  restore({ name, text }) {
    const field = document.querySelector(`.${CSS.escape(name)} :is(${FIELDS})`);
    if (!field || field.disabled || field.value === text) return;
    // React notices a new value only if the setter of the element's prototype has set it.
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, text);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
}

/** The class in which Streamlit writes the key of a field's widget. */
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
