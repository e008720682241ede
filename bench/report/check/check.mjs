// check.mjs PAGE [PICTURES] - axe-core's rules for a page in Debian's Chromium, light and dark, wide and as
// narrow as a phone. Fails if one is broken, or if the page is wider than its window. With PICTURES, a
// directory, each is kept as a picture there.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const [page, pictures] = process.argv.slice(2)
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
	args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
})
let bad = 0
for (const colorScheme of ['light', 'dark']) {
	for (const width of [1200, 390]) {
		const view = await browser.newPage({ colorScheme, viewport: { width, height: 900 } })
		await view.goto(pathToFileURL(page).href)
		await view.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true }))
		await view.evaluate(axe)
		const { violations } = await view.evaluate(() => globalThis.axe.run())
		for (const v of violations) {
			console.log(`${colorScheme}, ${width}: ${v.id}: ${v.help}: ${v.nodes[0].html.slice(0, 120)}`)
		}
		const over = await view.evaluate(() => document.documentElement.scrollWidth - innerWidth)
		if (over > 0) {
			console.log(`${colorScheme}, ${width}: the page is ${over} pixels wider than its window`)
		}
		bad += violations.length + (over > 0)
		if (pictures) {
			await view.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = false }))
			await view.screenshot({ path: `${pictures}/${colorScheme}-${width}.png`, fullPage: true })
		}
		await view.close()
	}
}
await browser.close()
console.log(bad ? `${bad} broken rules` : 'ok: no rule is broken')
process.exit(bad ? 1 : 0)
