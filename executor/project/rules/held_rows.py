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

from executor.project.rules.name_row import NameRow, hold

_INSTRUCTIONS: tuple[NameRow, ...] = (
    *hold(
        "agents, which follow it as an instruction",
        """AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md
          CRUSH.md OPENCODE.md CODEX.md WARP.md GROK.md IFLOW.md KIMI.md JULES.md CODEBUDDY.md
          DEVIN.md .cursorrules .windsurfrules .clinerules* .roorules* .kilocoderules* .goosehints*
          .continuerules .augment-guidelines .openhands_instructions .antigravityrules
          .voidrules .context-mode CLAUDE_CONTEXT.md CODEX_CONTEXT.md CURSOR_CONTEXT.md
          AIDER_CONTEXT.md replit.md .bolt/prompt copilot-instructions.md .github/instructions
          .github/prompts .github/chatmodes
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
          .gooseignore .qwenignore .continueignore .crushignore .aiignore .noai
          .warpindexingignore .copilotignore""",
    ),
    *hold(
        "programs that start MCP servers or language servers",
        "mcp.json mcp_config.json mcp-config.json mcp.*.json .mcp.* .lsp.json",
    ),
)

_PIPELINES: tuple[NameRow, ...] = (
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
          .tangled .earthly .dagger .evergreen.yml .copr .packit.yml .packit.yaml .vsts-ci.yml
          .bitrise.yml .space.kts .onedev-buildspec.yml .vela.yml .ci.yaml .harness
          .readthedocs.yml .readthedocs.yaml""",
    ),
    *hold(
        "services that build and publish, after a push",
        "netlify.toml vercel.json render.yaml amplify.yml heroku.yml",
    ),
    *hold(
        "reviewing bots, after a push: what they are told and let pass",
        """.coderabbit.y*ml .sweep.yaml sweep.yaml greptile.json .greptile .pr_agent.toml
          .ellipsis.yaml ellipsis.yaml .mega-linter.yml""",
    ),
    *hold(
        "bots, after a push",
        "renovate.json renovate.json5 .renovaterc* .mergify.yml .mergify .sops.yaml",
    ),
)

_PACKAGES: tuple[NameRow, ...] = (
    *hold(
        "npm, yarn, pnpm, bun, whenever they run here: servers, programs, plugins",
        """.npmrc .yarnrc .yarnrc.yml .yarn/releases .yarn/plugins .yarn/sdks .pnpmfile.cjs
          .pnpmfile.mjs .pnpmfile.js pnpmfile.js pnpm-workspace.y*ml bunfig.toml .bunfig.toml""",
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
          .gradle/init.gradle* .gradle/gradle.properties .sbtopts .sbtrc .sbtconfig .jvmopts
          .mill-jvm-opts .mill-opts .config/mill-* .jvmrc .java_opts .mavenrc profiles.clj""",
    ),
    *hold(
        "NuGet, dotnet, MSBuild, whenever they run, and what opens a project: servers, programs",
        """nuget.config .config/dotnet-tools.json dotnet-tools.json Directory.Build.props
          Directory.Build.targets Directory.Build.rsp MSBuild.rsp Directory.Solution.props
          Directory.Solution.targets before.*.sln.targets after.*.sln.targets *.csproj.user
          *.vbproj.user *.fsproj.user *.vcxproj.user""",
    ),
    *hold(
        "Bazel, Buck, Please, Pants, whenever they run: options, wrappers",
        ".bazelrc .bazeliskrc user.bazelrc tools/bazel tools/bazel.* .buckconfig "
        ".buckconfig.local .buckjavaargs .plzconfig* .pants.rc .pants.bootstrap",
    ),
    *hold(
        "Ansible, Terraform, LuaRocks, Composer, whenever they run",
        "ansible.cfg .ansible.cfg .terraformrc terraform.rc .luarocks/config*.lua .arcconfig",
    ),
    *hold(
        "west, latexmk, GNU Global, whenever they run: programs",
        ".west/config .latexmkrc latexmkrc gtags.conf .globalrc",
    ),
    *hold(
        "docker compose, whenever it runs: it takes it in unasked",
        "docker-compose.override.y*ml compose.override.y*ml",
    ),
    *hold("kubectl, where it is told: programs that give credentials", ".kubeconfig"),
    *hold("Git LFS: where it sends and gets files", ".lfsconfig .gitreview"),
)

_HOOKS: tuple[NameRow, ...] = (
    *hold(
        "git, on commit and the like, by a manager of hooks",
        """.pre-commit-config.yaml .pre-commit-config.yml prek.toml .pre-commit .husky .huskyrc*
          husky.config.js lefthook.* .lefthook.* lefthook-local.* .lefthook-local.* .lefthook
          .lefthook-local .lefthookrc .config/lefthook* .overcommit.yml .overcommit
          .lintstagedrc* lint-staged.config.* .simple-git-hooks.* simple-git-hooks.*
          captainhook.json captainhook.config.json grumphp.yml grumphp.yaml hk.pkl .rusty-hook.toml
          .cargo-husky .gitlint-hooks .yorkie .trunk .qlty""",
    ),
    *hold(
        "git, on commit and the like, where core.hooksPath says so",
        ".githooks .git-hooks githooks git-hooks .hooks",
    ),
)

_VERSIONS: tuple[NameRow, ...] = (
    *hold(
        "version managers, on cd and whenever a tool starts: which program that is",
        """.nvmrc .node-version .python-version .python-versions .ruby-version .ruby-gemset
          .rbenv-gemsets .tool-versions mise*.lock .mise*.lock .*-version .zigversion
          .bazelversion .bazelversion.* .sdkmanrc .jabbarc .prototools .fvmrc .fvm .dvmrc
          .tfswitchrc aqua.yaml aqua.yml .aqua.yaml .aqua.yml .aqua vfox.toml .vfox.toml
          .pkgx.y*ml pkgx.y*ml .tea.y*ml .pdm-python rust-toolchain
          rust-toolchain.toml global.json .volta""",
    ),
)

_ENVIRONMENT: tuple[NameRow, ...] = (
    *hold(
        "what loads variables from files: shells' plugins, docker compose, web frameworks",
        ".env .env.* .envs .flaskenv .dev.vars .dev.vars.* .rbenv-vars .foreman",
    ),
    # Direnv asks for `.envrc` alone, not for what `use nix`, `use flake` and the like read.
    *hold(
        "direnv, on cd, where it uses Nix, Guix, devenv, devbox, Pixi: a shell's hook",
        """flake.nix shell.nix devenv.nix devenv.local.nix devenv.yaml devenv.local.yaml .devenv
          devbox.json .devbox manifest.scm guix.scm .guix-channels .guix-authorizations
          .pixi/config.toml""",
    ),
    *hold("direnv, on cd, where it uses Nix: a shell's hook", "default.nix", anywhere=False),
    *hold("other version control: where it gets and sends files", ".svn .fossil-settings"),
    *hold("Python, on start, where the folder is on its path", "sitecustomize.py usercustomize.py"),
    *hold("web servers, at a request: options, programs", ".htaccess .user.ini web.config"),
    *hold(
        "editors, for the language server or the tool of a file below",
        ".clangd .luarc.json .luarc.jsonc .vimspector.json .projections.json .ctags .ctags.d "
        ".project .settings .swiftpm/configuration xcuserdata .xcode.env .xcode.env.local .merlin "
        "elp.toml .elp.toml .solargraph.yml",
    ),
    *hold(
        "people, who start it by name: sessions, machines, environments",
        """.tmuxinator.yml .tmuxinator.yaml .tmuxp.yaml .tmuxp.yml .tmuxp.json .lando.yml
          .lando.local.yml .ddev .run devfile.yaml .devfile.yaml .gitpod.Dockerfile""",
    ),
    *hold("Windows' Explorer, for the icon of a link", "*.url"),
)

HELD_ROWS: tuple[NameRow, ...] = (
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
