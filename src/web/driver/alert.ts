import { WakeLock } from './wake-lock.ts';

/** Signals a new order by sound and vibration, and keeps the screen on while it is needed. */

const VIBRATION_MS = [300, 150, 300];
const TONE_HZ = [880, 1_320];
const TONE_SECONDS = 0.22;

let sound: AudioContext | null = null;

/**
 * Starts the sound, or goes on with it where a call has stopped it. Call it whenever the page is touched, as browsers
 * allow most pages no sound before that.
 *
 * @param changed called when `isMute` has changed
 */
export function allowSound(changed: () => void): void {
  try {
    sound ??= new AudioContext();
    sound.onstatechange = changed;
    void sound.resume().catch(() => {});
  } catch {
    sound = null;
  }
}

/** Whether the page cannot ring before it is touched. */
export function isMute(): boolean {
  return sound !== null && sound.state !== 'running';
}

export function ring(): void {
  // A page may vibrate the phone only after the first tap.
  if (navigator.userActivation?.hasBeenActive !== false) navigator.vibrate?.(VIBRATION_MS);
  if (sound?.state !== 'running') return;
  const volume = sound.createGain();
  volume.gain.value = 0.25;
  volume.connect(sound.destination);
  for (const [index, hertz] of TONE_HZ.entries()) {
    const tone = sound.createOscillator();
    tone.frequency.value = hertz;
    tone.connect(volume);
    tone.start(sound.currentTime + index * TONE_SECONDS);
    tone.stop(sound.currentTime + (index + 1) * TONE_SECONDS);
  }
}

const screen = new WakeLock(async () => {
  if (!('wakeLock' in navigator) || document.visibilityState !== 'visible') return null;
  return navigator.wakeLock.request('screen');
});

/** Keeps the screen on or not. Call it again when the page is visible, as a hidden page loses its lock. */
export function keepAwake(on: boolean): Promise<void> {
  return screen.keep(on);
}
