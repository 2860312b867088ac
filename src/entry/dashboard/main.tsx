import { render } from 'preact';
import { Page } from './app.js';
import { storeKey, takeKeyFromFragment } from './stored-key.js';
import './style.css';

const givenKey = takeKeyFromFragment();
if (givenKey !== null) storeKey(givenKey);
// The same for a page that is open already, if only its fragment changes.
addEventListener('hashchange', () => {
  const key = takeKeyFromFragment();
  if (key === null) return;
  storeKey(key);
  location.reload();
});
const page = document.getElementById('page');
if (page) {
  page.replaceChildren();
  render(<Page />, page);
}
