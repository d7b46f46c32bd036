"""Names whose changes wait for a person: they decide what others run, later or elsewhere.

Ordinary inputs of a build (package.json, Makefile, pyproject.toml, Cargo.toml, Gemfile, Dockerfile,
lock files, configurations of compilers, linters and test runners) have no row. People's builds
write those, and whoever builds or tests a project runs what is in it: that a run can change what a
later build on the host does is a limit. So is what an interpreter loads by its name from the folder
in which it starts (`os.py`, `erl_scan.beam`): that is source code. `.gitattributes` and
`.gitignore` have no row either: git takes no program from them, only from a configuration, and
reviews show them.
"""

from __future__ import annotations

from executor.project.name_row import Row, hold

_INSTRUCTIONS: tuple[Row, ...] = (
    *hold(
        "agents, which follow it as an instruction",
        """AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md
          CRUSH.md OPENCODE.md CODEX.md WARP.md GROK.md IFLOW.md KIMI.md JULES.md CODEBUDDY.md
          DEVIN.md .cursorrules .windsurfrules .clinerules .roorules* .kilocoderules* .goosehints
          .continuerules .augment-guidelines .openhands_instructions .antigravityrules
          copilot-instructions.md .github/instructions .github/prompts .github/chatmodes
          .github/skills .claude-plugin .ruler .rulesync""",
    ),
    # Longer patterns than those of the folders, which are never committed.
    *hold(
        "agents, which follow it as an instruction",
        """.claude/CLAUDE.md .claude/rules .codex/AGENTS.md .cursor/rules .gemini/GEMINI.md
          .gemini/styleguide.md .windsurf/rules .junie/guidelines.md .junie/AGENTS.md
          .kiro/steering .kiro/specs .qwen/QWEN.md .roo/rules* .amazonq/rules .continue/rules
          .kilocode/rules* .augment/rules .trae/rules .agent/rules .tabnine/guidelines
          .serena/memories .aiassistant/rules""",
    ),
    *hold("Zed's agent, which follows it as an instruction", ".rules", anywhere=False),
    *hold(
        "agents: what they may not read",
        """.claudeignore .cursorignore .cursorindexingignore .geminiignore .aiexclude
          .codeiumignore .aiderignore .clineignore .rooignore .kilocodeignore .augmentignore
          .gooseignore .qwenignore .continueignore .crushignore .aiignore .noai""",
    ),
    *hold("programs that start MCP servers", "mcp.json mcp_config.json mcp.*.json"),
)

_PIPELINES: tuple[Row, ...] = (
    *hold(
        "GitHub, after a push: workflows, actions, bots, who reviews",
        """.github/workflows .github/actions .github/dependabot.y*ml .github/settings.y*ml
          .github/renovate.json* CODEOWNERS .actrc""",
    ),
    *hold(
        "GitLab, after a push",
        ".gitlab-ci.yml .gitlab-ci.yaml *.gitlab-ci.yml .gitlab-ci "
        ".gitlab/ci .gitlab/agents .gitlab/duo",
    ),
    *hold(
        "Forgejo, Gitea, Woodpecker, Drone, after a push",
        ".forgejo .gitea .woodpecker* .drone.yml .drone.yaml .drone.star .drone.jsonnet",
    ),
    *hold(
        "CI services, after a push",
        """.circleci .travis.yml azure-pipelines*.yml azure-pipelines*.yaml .azure-pipelines
          .azuredevops .azure/pipelines Jenkinsfile Jenkinsfile.* *.jenkinsfile
          bitbucket-pipelines.yml .buildkite buildkite.yml appveyor.yml .appveyor.yml .cirrus.yml
          .cirrus.star .build.yml .builds .semaphore .teamcity .tekton codefresh.yml .codefresh
          wercker.yml shippable.yml bitrise.yml codemagic.yaml cloudbuild.yaml cloudbuild.yml
          buildspec.yml buildspec.yaml .ci.yml .zuul.yaml .zuul.d zuul.yaml zuul.d .sourcehut
          .tangled .earthly .dagger .evergreen.yml .copr .packit.yml .packit.yaml""",
    ),
    *hold(
        "bots, after a push",
        "renovate.json renovate.json5 .renovaterc* .mergify.yml .mergify .sops.yaml",
    ),
)

_PACKAGES: tuple[Row, ...] = (
    *hold(
        "npm, yarn, pnpm, bun, whenever they run here: servers, programs, plugins",
        """.npmrc .yarnrc .yarnrc.yml .yarn/releases .yarn/plugins .yarn/sdks .pnpmfile.cjs
          .pnpmfile.mjs .pnpmfile.js pnpmfile.js bunfig.toml .bunfig.toml""",
    ),
    *hold(
        "cargo, whenever it runs here: wrappers, runners, linkers, servers",
        ".cargo/config .cargo/config.toml .cargo/credentials*",
    ),
    *hold(
        "pip, uv, poetry, conda, twine, whenever they run: servers",
        """pip.conf pip.ini .pip .pypirc .pydistutils.cfg uv.toml poetry.toml pdm.toml .pdm.toml
          .condarc condarc .mambarc mambarc""",
    ),
    *hold("Bundler and gem, whenever they run", ".bundle/config .bundle/plugin .gemrc gemrc"),
    *hold(
        "Maven, Gradle, sbt, whenever they run: extensions, options, what is downloaded",
        """.mvn .m2/settings.xml .m2/settings-security.xml gradle/wrapper .gradle/init.d
          .gradle/init.gradle* .gradle/gradle.properties .sbtopts .jvmopts .mill-jvm-opts .jvmrc
          .java_opts""",
    ),
    *hold("NuGet and dotnet, whenever they run", "nuget.config .config/dotnet-tools.json"),
    *hold(
        "Bazel, Buck, whenever they run: options, wrappers",
        ".bazelrc .bazeliskrc user.bazelrc tools/bazel .buckconfig .buckconfig.local",
    ),
    *hold(
        "Ansible, Terraform, LuaRocks, Composer, whenever they run",
        "ansible.cfg .ansible.cfg .terraformrc terraform.rc .luarocks/config*.lua .arcconfig",
    ),
    *hold("Git LFS: where it sends and gets files", ".lfsconfig .gitreview"),
)

_HOOKS: tuple[Row, ...] = (
    *hold(
        "git, on commit and the like, by a manager of hooks",
        """.pre-commit-config.yaml .pre-commit-config.yml prek.toml .pre-commit .husky .huskyrc*
          husky.config.js lefthook.* .lefthook.* lefthook-local.* .lefthook-local.* .lefthook
          .lefthook-local .lefthookrc .config/lefthook* .overcommit.yml .overcommit
          .lintstagedrc* lint-staged.config.* .simple-git-hooks.* simple-git-hooks.*
          captainhook.json captainhook.config.json grumphp.yml grumphp.yaml hk.pkl .rusty-hook.toml
          .cargo-husky .gitlint-hooks .yorkie""",
    ),
    *hold(
        "git, on commit and the like, where core.hooksPath says so",
        ".githooks .git-hooks githooks git-hooks .hooks",
    ),
)

_VERSIONS: tuple[Row, ...] = (
    *hold(
        "version managers, on cd and whenever a tool starts: which program that is",
        """.nvmrc .node-version .python-version .python-versions .ruby-version .ruby-gemset
          .rbenv-gemsets .tool-versions mise*.lock .mise*.lock .*-version .zigversion
          .bazelversion .bazelversion.* .sdkmanrc .jabbarc .prototools .fvmrc .fvm .dvmrc
          .tfswitchrc rust-toolchain rust-toolchain.toml global.json .volta""",
    ),
)

_ENVIRONMENT: tuple[Row, ...] = (
    *hold(
        "what loads variables from files: shells' plugins, docker compose, web frameworks",
        ".env .env.* .envs .flaskenv .dev.vars .dev.vars.* .rbenv-vars .foreman",
    ),
    *hold("Python, on start, where the folder is on its path", "sitecustomize.py usercustomize.py"),
    *hold("web servers, at a request: options, programs", ".htaccess .user.ini web.config"),
    *hold(
        "editors, for the language server or the tool of a file below",
        ".clangd .luarc.json .luarc.jsonc .vimspector.json .projections.json .ctags .ctags.d "
        ".project .settings .swiftpm/configuration",
    ),
    *hold(
        "people, who start it by name: sessions, machines, environments",
        """.tmuxinator.yml .tmuxinator.yaml .tmuxp.yaml .tmuxp.yml .tmuxp.json .lando.yml
          .lando.local.yml .ddev .run devfile.yaml .devfile.yaml .gitpod.Dockerfile""",
    ),
    *hold("Windows' Explorer, for the icon of a link", "*.url"),
)

HELD_ROWS: tuple[Row, ...] = (
    *_INSTRUCTIONS,
    *_PIPELINES,
    *_PACKAGES,
    *_HOOKS,
    *_VERSIONS,
    *_ENVIRONMENT,
)
# Committed, though a pattern with a star covers them: no tool loads a template.
TEMPLATES: tuple[str, ...] = (
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    ".env.schema",
    ".env.*.example",
    ".env.*.sample",
    ".env.*.template",
)
