// One question a line to the test, one answer a line back; the last line is what was found.
import readline from 'node:readline';

const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export async function ask(question) {
  process.stdout.write(`${JSON.stringify(question)}\n`);
  return JSON.parse((await answers.next()).value);
}

export function tell(found) {
  process.stdout.write(`${JSON.stringify({ found })}\n`, () => process.exit(0));
}
