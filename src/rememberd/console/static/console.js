// What pages gain with JavaScript: passkeys, copying, and ticks that follow a role.
// Every page is complete without it; nothing here decides anything.

const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const known = (list) => (list ?? []).map((one) => ({ ...one, id: bytes(one.id) }));

async function options(form) {
  const body = new URLSearchParams({ form_token: form.elements.form_token.value });
  const response = await fetch(form.dataset.options, { method: "POST", body });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error_description);
  return answer;
}

async function create(form) {
  const asked = await options(form);
  const credential = await navigator.credentials.create({
    publicKey: {
      ...asked,
      challenge: bytes(asked.challenge),
      user: { ...asked.user, id: bytes(asked.user.id) },
      excludeCredentials: known(asked.excludeCredentials),
    },
  });
  return [credential, { attestationObject: text(credential.response.attestationObject) }];
}

async function get(form) {
  const asked = await options(form);
  const credential = await navigator.credentials.get({
    publicKey: {
      ...asked,
      challenge: bytes(asked.challenge),
      allowCredentials: known(asked.allowCredentials),
    },
  });
  const { authenticatorData, signature, userHandle } = credential.response;
  return [credential, {
    authenticatorData: text(authenticatorData),
    signature: text(signature),
    userHandle: userHandle && text(userHandle),
  }];
}

function asJson(credential, response) {
  return JSON.stringify({
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    response: { ...response, clientDataJSON: text(credential.response.clientDataJSON) },
  });
}

function withPasskey(form) {
  const status = form.querySelector("[role=status]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (location.origin !== form.dataset.origin) {
      status.textContent = `Passkeys work at ${form.dataset.origin} only. Open this page there.`;
      return;
    }
    status.textContent = "Waiting for your passkey…";
    try {
      const ask = form.dataset.passkey === "create" ? create : get;
      form.elements.credential.value = asJson(...await ask(form));
      form.submit();
    } catch (error) {
      status.textContent = error.name === "NotAllowedError"
        ? "That was cancelled, or it took too long. You can try again."
        : error.name === "InvalidStateError"
          ? "This device has a passkey for this account already."
          : error.message;
    }
  });
}

function followRole(form) {
  const update = () => {
    const picked = form.querySelector("[name=vault]:checked");
    if (!picked) return;
    for (const tick of form.querySelectorAll("[name=scope]")) {
      const allowed = picked.dataset.allowed.split(" ").includes(tick.value);
      const reason = tick.closest("label").querySelector(".reason");
      if (!allowed) tick.checked = false;
      tick.disabled = !allowed;
      reason.hidden = allowed;
      reason.textContent = `As ${picked.dataset.role} of this vault you cannot allow this.`;
    }
  };
  form.addEventListener("change", (event) => event.target.name === "vault" && update());
  form.elements.new_vault?.addEventListener("input", () => {
    form.querySelector("#vault-new").checked = true;
    update();
  });
  update();
}

function copies(button) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

const each = (selector, act) => document.querySelectorAll(selector).forEach(act);
const show = (element) => { element.hidden = false; };

if (window.PublicKeyCredential) {
  each("[data-passkey]", withPasskey);
  each("[data-passkey], [data-needs-passkey]", show);
  each("[data-without-passkeys]", (element) => { element.hidden = true; });
}
if (navigator.clipboard) {
  each("[data-copy]", copies);
  each("[data-copy]", show);
}
each("[data-roles]", followRole);
