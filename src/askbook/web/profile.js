/** The reader's profile: which part of the book may answer. Only what the book has can be chosen. */

import { append, recall, remember } from "./dom.js";
import { byId } from "./source.js";

export class Profile {
  constructor(changed) {
    this.changed = changed;
    this.bookId = "";
    this.chosen = {};
    byId("within").querySelector("button").addEventListener("click", () => {
      for (const select of byId("choices").querySelectorAll("select")) select.value = "";
      this.choose({});
      byId("question").focus();
    });
  }

  show(bookId, choices) {
    this.bookId = bookId;
    this.choices = choices ?? { modules: [], hardware_tiers: [], proficiency_levels: [], layers: [] };
    this.chosen = recall("localStorage", `askbook.reader.${bookId}`) ?? {};
    byId("choices").replaceChildren();
    const { modules, hardware_tiers: tiers, proficiency_levels: levels, layers } = this.choices;
    this.add("module", "Module", "All modules", modules.map(({ name, title }) => [name, title]));
    this.add("tier", "Hardware tier", "All tiers", tiers.slice(0, -1).map((tier) => [String(tier), `Up to tier ${tier}`]));
    this.add("level", "Proficiency", "All levels", levels.slice(0, -1).map((level) => [level, `Up to ${level}`]));
    this.add("layer", "Layer", "All layers", layers.length > 1 ? layers.map((layer) => [layer, `Layer ${layer}`]) : []);
    byId("reader").hidden = byId("choices").childElementCount === 0;
    this.say();
  }

  /** What the choices add to a question. */
  fields() {
    const { module, tier, level, layer } = this.chosen;
    return {
      ...(module && { module }),
      ...(tier && { hardware_tier: Number(tier) }),
      ...(level && { proficiency_levels: this.choices?.proficiency_levels.filter((known) => known <= level) }),
      ...(layer && { layer }),
    };
  }

  add(name, label, all, options) {
    if (options.length === 0 || (name === "module" && options.length < 2)) return delete this.chosen[name];
    const field = append(byId("choices"), "label", "", label);
    const select = append(field, "select");
    for (const [value, text] of [["", all], ...options]) {
      append(select, "option", "", text).value = value;
    }
    select.value = options.some(([value]) => value === this.chosen[name]) ? this.chosen[name] : "";
    this.chosen[name] = select.value;
    select.addEventListener("change", () => this.choose({ ...this.chosen, [name]: select.value }));
  }

  choose(chosen) {
    this.chosen = chosen;
    remember("localStorage", `askbook.reader.${this.bookId}`, chosen);
    this.say();
    this.changed();
  }

  say() {
    const chosen = [...byId("choices").querySelectorAll("select")].filter((select) => select.value);
    byId("within").hidden = chosen.length === 0;
    const words = chosen.map((select) => select.selectedOptions[0].textContent);
    byId("within").querySelector("span").textContent = `Asking within: ${words.join(" · ")}`;
  }
}
