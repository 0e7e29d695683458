// @ts-check

/** @type {import('@docusaurus/types').Config} */
const config = {
  title: 'Physical AI & Robotics',
  tagline: 'From a laptop to a robot that listens',
  url: 'https://example.org',
  baseUrl: '/',
  trailingSlash: false,
  onBrokenLinks: 'throw',
  onBrokenAnchors: 'throw',
  i18n: {defaultLocale: 'en', locales: ['en']},
  presets: [
    [
      'classic',
      /** @type {import('@docusaurus/preset-classic').Options} */
      ({
        docs: {
          path: 'docs',
          routeBasePath: '/',
          sidebarPath: './sidebars.js',
        },
        blog: false,
        pages: false,
      }),
    ],
  ],
  themeConfig: {
    navbar: {
      title: 'Physical AI & Robotics',
      items: [
        {type: 'docSidebar', sidebarId: 'book', position: 'left', label: 'Book'},
      ],
    },
    prism: {additionalLanguages: ['bash', 'yaml', 'markup', 'json', 'python']},
  },
};

module.exports = config;
