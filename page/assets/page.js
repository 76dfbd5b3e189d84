// What the pages do beyond being read: times of the reader's own zone, spans that count on, parts that the
// server renders again, and messages that are sent without loading the page again.
"use strict";

const local = (options) => new Intl.DateTimeFormat(undefined, options);
const whole = local({ dateStyle: "medium", timeStyle: "short" });
const ofDay = local({ timeStyle: "medium" });

function showTimes(root) {
    for (const time of root.querySelectorAll("time[data-time], time[data-clock]")) {
        const at = new Date(time.dateTime);
        if (Number.isNaN(at.getTime())) continue;
        const text = time.hasAttribute("data-clock") ? ofDay.format(at) : whole.format(at);
        if (time.textContent !== text) {
            time.title = time.dateTime;
            time.textContent = text;
        }
    }
}

function span(ms) {
    const seconds = Math.max(0, Math.floor(ms / 1000));
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
    return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

function countOn() {
    for (const one of document.querySelectorAll("[data-since]")) {
        one.textContent = span(Date.now() - Number(one.dataset.since));
    }
}

// Makes one element like another, and leaves alone what the reader has opened, written or selected.
function morph(old, fresh) {
    for (const { name, value } of [...fresh.attributes]) {
        if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
        if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    if (["INPUT", "TEXTAREA", "SELECT"].includes(old.tagName)) return;
    const kept = [...old.childNodes];
    const byId = new Map(kept.filter((node) => node.id).map((node) => [node.id, node]));
    let place = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
        const named = wanted.id && byId.get(wanted.id);
        const found = named || place;
        const fits = found && found.nodeType === wanted.nodeType && found.nodeName === wanted.nodeName
            && (found.id || "") === (wanted.id || "");
        if (!fits) {
            old.insertBefore(wanted, place);
        } else {
            if (found !== place) old.insertBefore(found, place);
            if (found.nodeType === Node.ELEMENT_NODE) morph(found, wanted);
            else if (found.data !== wanted.data) found.data = wanted.data;
            place = found.nextSibling;
        }
    }
    while (place) {
        const next = place.nextSibling;
        place.remove();
        place = next;
    }
}

function isAtEnd() {
    return window.innerHeight + window.scrollY >= document.body.scrollHeight - 80;
}

function follow(address) {
    const source = new EventSource(address);
    const lost = document.getElementById("lost");
    source.addEventListener("open", () => { lost.hidden = true; });
    source.addEventListener("error", () => { lost.hidden = false; });
    source.addEventListener("part", (event) => {
        const { id, html } = JSON.parse(event.data);
        const old = document.getElementById(id);
        if (!old) return;
        const fresh = old.cloneNode(false);
        fresh.innerHTML = html;
        const stays = id === "part-talk" && isAtEnd();
        showTimes(fresh);
        morph(old, fresh);
        countOn();
        if (stays) window.scrollTo(0, document.body.scrollHeight);
    });
    source.addEventListener("signed-out", () => { source.close(); window.location.assign("/sign-in"); });
}

function compose(form) {
    const text = form.querySelector("textarea");
    text.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            form.requestSubmit();
        }
    });
    form.addEventListener("submit", async (event) => {
        event.preventDefault();
        const button = form.querySelector("button");
        button.disabled = true;
        form.querySelector(".notice")?.remove();
        try {
            const answer = await fetch(form.action, { method: "POST", body: new FormData(form) });
            if (!answer.ok) throw new Error((await answer.text()).match(/<p>([^<]*)<\/p>/)?.[1] || answer.statusText);
            form.reset();
            window.scrollTo(0, document.body.scrollHeight);
        } catch (error) {
            const said = document.createElement("p");
            said.className = "notice bad";
            said.setAttribute("role", "alert");
            said.textContent = error instanceof TypeError ? "The supervisor does not answer. Your message is still here." : error.message;
            form.prepend(said);
        } finally {
            button.disabled = false;
            text.focus();
        }
    });
    window.scrollTo(0, document.body.scrollHeight);
}

showTimes(document);
countOn();
setInterval(countOn, 1000);
const main = document.querySelector("main[data-live]");
if (main) follow(main.dataset.live);
document.querySelectorAll("form[data-compose]").forEach(compose);
