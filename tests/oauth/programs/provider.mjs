// What a host keeps for the TypeScript SDKs, old and new; the person is asked through the test.
import { ask } from './dialogue.mjs';

export class Provider {
  redirectUrl = 'http://127.0.0.1:9999/callback';
  answer = undefined; // a promise of the address that the person was sent back to
  asked = []; // the scopes of each link

  get clientMetadata() {
    return {
      client_name: 'TypeScript client',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }
  state() {
    return (this.stateSent = crypto.randomUUID());
  }
  clientInformation() {
    return this.information;
  }
  saveClientInformation(information) {
    this.information = information;
  }
  tokens() {
    return this.held;
  }
  saveTokens(tokens) {
    this.held = tokens;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  discoveryState() {
    return this.discovered;
  }
  saveDiscoveryState(state) {
    this.discovered = state;
  }
  invalidateCredentials(kind) {
    if (kind === 'all' || kind === 'client') this.information = undefined;
    if (kind === 'all' || kind === 'tokens') this.held = undefined;
  }
  redirectToAuthorization(url) {
    this.asked.push(url.searchParams.get('scope'));
    this.answer = ask({ authorize: url.href });
  }
  async callback() {
    const back = new URL(await this.answer).searchParams;
    if (back.get('state') !== this.stateSent) throw new Error('another state came back');
    return back;
  }
}

export const wanted = (challenge) => /scope="([^"]+)"/.exec(challenge)[1];
export const text = (result) => result.structuredContent.memories.map((memory) => memory.text);
