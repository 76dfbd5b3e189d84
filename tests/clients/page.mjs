// Holds each view of the page at the control port against axe-core, the rules for people who see little or
// nothing, in both themes and two widths. The arguments are the directory of the programs and one to work in.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [, , programs, scratch] = process.argv;
const VIEWS = ["/", "/chat", "/chat/main", "/tasks", "/approvals", "/files", "/files?session=local:local&path=.",
    "/tools", "/tools/bash", "/usage", "/schedules", "/settings"];
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"];
const axe = readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");

const data = join(scratch, "page-data");
mkdirSync(data, { recursive: true });
const supervisor = join(programs, "supervisor");
const command = (...words) => execFileSync(supervisor, ["--data-dir", data, ...words], { encoding: "utf8" }).trim();

async function start() {
    const environment = { ...process.env, AUTONOUS_CONTROL_LISTEN: "127.0.0.1:0", AUTONOUS_TOOL_LISTEN: "127.0.0.1:0" };
    const child = spawn(supervisor, ["--data-dir", data, "run"], { env: environment, stdio: ["ignore", "pipe", "ignore"] });
    await once(child.stdout, "data");
    return child;
}

async function look(browser, own, state) {
    let faults = 0;
    const task = JSON.parse(command("tasks", "--json")).tasks[0].id;
    for (const colorScheme of ["light", "dark"]) {
        for (const width of [390, 1400]) {
            const context = await browser.newContext({ storageState: state, colorScheme, viewport: { width, height: 900 } });
            for (const path of [...VIEWS, `/tasks/${task}`]) {
                const page = await context.newPage();
                await page.goto(own + path);
                const wide = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
                const { violations } = await page.evaluate(`(() => { ${axe}; return axe.run(document); })()`);
                for (const { impact, id, nodes } of violations) {
                    console.log(`${path} (${colorScheme}, ${width}): ${impact}: ${id}: ${nodes[0].target}`);
                    faults += ["serious", "critical"].includes(impact) ? 1 : 0;
                }
                if (wide > 0) {
                    console.log(`${path} (${colorScheme}, ${width}) is ${wide} pixels too wide`);
                    faults += 1;
                }
                await page.close();
            }
            await context.close();
        }
    }
    return faults;
}

const child = await start();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
try {
    command("chat", "write path=notes.md content=\"one\"");
    command("chat", "bash cmd=\"ls -la\"");
    const link = command("open", "--print");
    const signedIn = await browser.newContext();
    const first = await signedIn.newPage();
    const own = new URL(link).origin;
    await first.goto(link);
    await first.waitForURL(`${own}/`);
    const faults = await look(browser, own, await signedIn.storageState());
    console.log(`${faults} serious findings`);
    process.exitCode = faults === 0 ? 0 : 1;
} finally {
    await browser.close();
    child.kill("SIGTERM");
}
