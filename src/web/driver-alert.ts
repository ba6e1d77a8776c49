/** Makes a new order heard and felt, and keeps the screen on while the driver waits for one. */

const VIBRATION_MS = [300, 150, 300];
const TONE_HZ = [880, 1_320];
const TONE_SECONDS = 0.22;

let sound: AudioContext | null = null;

/** To be called while a button is pressed: without that browsers let no page make a sound. */
export function allowSound(): void {
  try {
    sound ??= new AudioContext();
    void sound.resume().catch(() => {});
  } catch {
    sound = null;
  }
}

export function ring(): void {
  // A phone that does not vibrate, or is not yet allowed to, says so by returning false.
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

let lock: WakeLockSentinel | null = null;
let wanted = false;

/** The browser takes the lock away when the page is out of sight; to be called again when it is back. */
export async function keepAwake(on: boolean): Promise<void> {
  wanted = on;
  if (!on) {
    await lock?.release().catch(() => {});
    lock = null;
    return;
  }
  if (!('wakeLock' in navigator) || document.visibilityState !== 'visible' || (lock && !lock.released)) return;
  const taken = await navigator.wakeLock.request('screen').catch(() => null);
  if (wanted) lock = taken;
  else await taken?.release().catch(() => {});
}
