"""Names that are obeyed on cd, on open, on start or by version control: never committed.

Tools that ask first (direnv, mise, editors with trusted folders) have rows too: who has trusted a
folder is not asked again when a file in it changes, or is asked about what he did not read.
"""

from __future__ import annotations

from executor.project.rules.name_row import NameRow, refuse

# What a desktop, a shell or a tool obeys in a user's home: projects of dotfiles have them, and a
# home's links lead there.
HOME_ROWS: tuple[NameRow, ...] = (
    *refuse(
        "ssh, gpg and pass: keys, programs, who may log in",
        ".ssh .shosts .rhosts .k5login .gnupg .password-store",
    ),
    *refuse(
        "cloud and container tools, for this user: programs that give credentials",
        ".aws/config .aws/credentials .kube .docker/config.json .docker/cli-plugins "
        ".docker/contexts .config/gcloud .config/containers .config/docker",
    ),
    *refuse(
        "the desktop, at log-in",
        """.config/autostart .config/autostart-scripts .config/plasma-workspace .config/systemd
           .config/environment.d .config/user-tmpfiles.d .local/share/systemd .xinitrc .xsession
           .xsessionrc .xprofile .xserverrc .Xresources .Xdefaults .pam_environment .gnomerc
           .vnc/xstartup .config/upstart .kde/Autostart .kde/share Library/LaunchAgents
           Library/LaunchDaemons""",
    ),
    *refuse(
        "Windows, at log-in and when a folder is opened",
        "Startup/*.bat Startup/*.cmd Startup/*.exe Startup/*.vbs Startup/*.ps1 desktop.ini "
        "autorun.inf *.lnk *.scf *.library-ms *.searchconnector-ms",
    ),
    # Elsewhere a .desktop file is what a build of a desktop program makes, and runs on a click.
    *refuse(
        "the desktop, for this user: programs, services, extensions, file managers",
        """.local/share/applications .config/menus .local/share/dbus-1
           .local/share/gnome-shell .local/share/nautilus .local/share/nemo .local/share/kio
           .local/share/kservices5 .local/share/kglobalaccel .local/share/plasma
           .local/share/file-manager .local/share/polkit-1 .local/share/bash-completion
           .local/share/zsh .local/share/flatpak .config/mimeapps.list .mailcap .directory""",
    ),
    *refuse(
        "window managers, terminals, key bindings, on start",
        """.config/i3 .i3 .config/sway .config/hypr .config/awesome .config/bspwm .config/sxhkd
           .config/openbox .config/qtile .config/river .config/niri .xmonad .config/xmonad
           .config/polybar .config/waybar .config/rofi .config/dunst .config/kitty
           .config/alacritty .config/ghostty .config/foot .config/wezterm .config/terminator
           .wezterm.lua .alacritty.toml .alacritty.yml .config/k9s
           .hammerspoon .skhdrc .yabairc .aerospace.toml .xbindkeysrc .asoundrc""",
    ),
    *refuse("the shell, as a program of that name, for this user", ".local/bin"),
    *refuse("Python, whenever it starts for this user", ".local/lib/python*"),
    *refuse("mail, as it arrives", ".forward .procmailrc .fetchmailrc .muttrc .mutt .config/mutt"),
    *refuse(
        "package managers, for this user: servers, programs",
        ".config/pip .config/uv .config/pnpm .config/yarn .config/pypoetry .config/composer "
        ".config/NuGet .config/conda .config/cargo",
    ),
)


_SHELLS: tuple[NameRow, ...] = (
    *refuse(
        "direnv, on cd",
        ".envrc .envrc.* .direnv/*.rc .direnv/bin .direnvrc .config/direnv",
        in_packages=True,
    ),
    *refuse(
        "mise, on cd: hooks, env, templates that run programs",
        """mise.toml .mise.toml mise.*.toml .mise.*.toml .mise mise/config*.toml mise/conf.d
           mise/tasks mise-tasks .mise-tasks .miserc*.toml .config/miserc*.toml
           .rtx.toml .rtx.*.toml .rtx .config/mise .config/mise.toml .config/mise.*.toml
           .config/rtx""",
        in_packages=True,
    ),
    *refuse("asdf, whenever a tool of its starts: hooks, plugins", ".asdfrc .asdf"),
    *refuse(
        "shell extensions (autoenv, zsh-autoenv, smartcd, rvm, shadowenv), on cd",
        """.autoenv .autoenv.zsh .autoenv_leave.zsh .autoenv.leave .env.leave .bash_enter
           .bash_leave .smartcd .smartcd_config .rvmrc .ruby-env .versions.conf .shadowenv.d
           .ondirrc .flox .dirsh .in .out""",
        in_packages=True,
    ),
    *refuse(
        "hermit, on cd: it activates what it finds",
        "bin/hermit bin/hermit.hcl bin/activate-hermit bin/activate-hermit.fish",
    ),
    *refuse("pow and puma-dev, when they serve the folder", ".powrc .powenv .pumaenv"),
    # Also below the top: folders of dotfiles, to which a home's links lead.
    *refuse(
        "bash, dash, ksh, on start or end",
        """.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_functions
           .bash_completion .profile .shrc .shinit .kshrc .mkshrc .yashrc .yash_profile .aliases
           .functions .exports .localrc .config/bash""",
    ),
    *refuse(
        "zsh, on start or end",
        """.zshrc .zshrc.local .zshenv .zprofile .zlogin .zlogout .zpreztorc .zimrc .p10k.zsh
           .oh-my-zsh .zsh .zsh.d .zshrc.d .zfunc .config/zsh""",
    ),
    *refuse("csh and tcsh, on start or end", ".cshrc .tcshrc .login .logout"),
    *refuse(
        "fish, nushell, xonsh, elvish, PowerShell, on start",
        """.config/fish .local/share/fish .config/nushell .xonshrc .xonsh .config/xonsh .elvish
           .config/elvish .config/powershell *_profile.ps1 profile.ps1""",
    ),
    *refuse("starship, at each prompt", ".config/starship.toml"),
    *refuse(
        "readline and editline, in every prompt: keys that type commands",
        ".inputrc .editrc .config/readline",
    ),
    *refuse(
        "tmux, screen, byobu, zellij, on start: commands",
        ".tmux.conf .tmux.conf.local .tmux .config/tmux .screenrc .byobu .config/zellij",
    ),
)

_EDITORS: tuple[NameRow, ...] = (
    *refuse(
        "VS Code and its kin, on open: tasks, interpreters, settings that name programs",
        ".vscode .vscode-server .vscode-insiders .vscode-oss .cursor-server *.code-workspace "
        ".theia .config/Code .config/Cursor .config/VSCodium .config/*-flags.conf",
    ),
    *refuse(
        "JetBrains IDEs and Fleet, on open: start-up tasks, tools, interpreters",
        ".idea .fleet *.iml *.ipr *.iws",
    ),
    *refuse(
        "Dev Containers and Codespaces, on open: commands on this machine and in the container",
        ".devcontainer .devcontainer.json",
    ),
    *refuse(
        "hosted editors, on open of a workspace: tasks",
        """.gitpod.yml .gitpod .ona .idx .replit replit.nix .codesandbox .stackblitzrc""",
    ),
    *refuse(
        "vim and neovim, on start here, or with exrc or a local-vimrc plugin on open",
        """.exrc _exrc .vimrc _vimrc .gvimrc _gvimrc .nvimrc .nvim.lua .exrc.lua .nvim .vim
           .lvimrc .local.vimrc .vimrc.local .vimrc.lua .vim.custom .netrwhist Session.vim
           .session.vim .vimsession .vim_local .project.vim .lazy.lua .ideavimrc
           .config/vim .config/nvim .local/share/nvim .local/share/vim""",
        in_packages=True,
    ),
    *refuse("YouCompleteMe, when a file below is opened", ".ycm_extra_conf.py", in_packages=True),
    *refuse("neoconf and nlsp-settings, on open: language servers", ".neoconf.json .nlsp-settings"),
    *refuse(
        "Emacs, when a file below is opened", ".dir-locals.el .dir-locals-2.el", in_packages=True
    ),
    *refuse(
        "Emacs, on start",
        ".emacs .emacs.el .emacs.d .emacs.desktop .spacemacs .spacemacs.d .doom.d .config/emacs "
        ".config/doom",
    ),
    *refuse("Zed, on open: tasks, language servers", ".zed .config/zed"),
    *refuse(
        "Visual Studio, on open: tasks, programs to start",
        ".vs tasks.vs.json launch.vs.json CppProperties.json",
    ),
    *refuse(
        "Qt Creator, KDevelop, Spyder, Komodo, NetBeans, on open: steps, tools, macros",
        """*.pro.user *.creator.user *.qmlproject.user *.pyproject.user CMakeLists.txt.user
           .qtcreator .kdev4 *.kdev4 .spyproject .spyderproject .komodotools *.komodoproject
           nbproject/private""",
    ),
    *refuse(
        "what completes and refactors (rope, Tern), on open: a program, plugins",
        ".ropeproject .tern-project",
    ),
    *refuse(
        "language servers, on open: commands, or what they have compiled and load",
        """hie.yaml .hie.yaml .lsp/config.edn .ccls .cquery .phpactor.json .phpactor.yml
           .phpactor.yaml .ruby-lsp .elixir_ls .lexical .elixir-tools .expert .metals .bloop
           .calva""",
    ),
    *refuse(
        "Obsidian and Logseq, on open of the folder as notes: plugins",
        ".obsidian .logseq logseq/custom.js logseq/config.edn",
    ),
    *refuse(
        "Helix, Lapce, Nova, Kate, Sublime Text, on open: language servers, tools",
        """.helix .config/helix .lapce .nova .kateproject* .config/kate *.sublime-project
           *.sublime-workspace""",
    ),
    *refuse(
        "Eclipse and the Java language server, on open: builders, annotation processors",
        ".externalToolBuilders .factorypath",
    ),
    *refuse(
        "rust-analyzer, on open: the command that checks", "rust-analyzer.toml .rust-analyzer.toml"
    ),
    *refuse(
        "IDEs that speak the Build Server Protocol, on open: the server's command",
        ".bsp buildServer.json .sourcekit-lsp",
    ),
    *refuse("nano, on start", ".nanorc .config/nano"),
    *refuse("sensible-editor, on start: it is read by a shell", ".selected_editor"),
)

_AGENTS: tuple[NameRow, ...] = (
    *refuse("agents with MCP servers, on start: commands", ".mcp.json .mcp"),
    # Skills and commands of folders below are found too, and run commands when they are loaded.
    *refuse(
        "Claude Code, on start: settings, hooks, commands, skills",
        ".claude .claude.json",
        in_packages=True,
    ),
    *refuse("Codex, on start: settings, hooks, MCP servers", ".codex"),
    *refuse("Cursor, on start: hooks, MCP servers, commands, environment", ".cursor"),
    *refuse("Gemini CLI, on start: settings, hooks, commands, extensions", ".gemini"),
    *refuse(
        "OpenCode, on start: settings, plugins, commands",
        ".opencode .opencode.json .opencode.jsonc opencode.json opencode.jsonc kilo.json "
        "kilo.jsonc .config/opencode .config/kilo",
    ),
    *refuse("Windsurf and Codeium, on start: hooks, workflows", ".windsurf .codeium"),
    *refuse(
        "Copilot, on start: settings, hooks, MCP servers, agents",
        ".github/hooks .github/copilot .github/mcp.json .github/agents .copilot "
        ".config/github-copilot",
    ),
    *refuse(
        "agents, on start: settings, skills and hooks that several of them share",
        ".agents .agent .config/agents",
    ),
    *refuse(
        "Cline, Roo Code, Kilo Code, on start: settings, modes, hooks, MCP servers",
        ".cline .clinerules/hooks .roo .roomodes .kilocode .kilocodemodes .kilo",
    ),
    *refuse("Kiro and Amazon Q, on start: hooks, settings, MCP servers", ".kiro .amazonq"),
    *refuse(
        "Qwen Code, Kimi, iFlow, CodeBuddy, Lingma, Qoder, Trae, Comate, on start",
        """.qwen .kimi .kimi-code .iflow .codebuddy .codebuddy.json .lingma .qoder .qoder.json .trae
           .comate""",
    ),
    *refuse("Junie, on start: settings, MCP servers", ".junie .aiassistant"),
    *refuse(
        "Crush, on start: settings, hooks, MCP servers, language servers",
        ".crush.json crush.json .crush .config/crush",
    ),
    *refuse("Continue, on start: settings, MCP servers", ".continue .continuerc.json"),
    *refuse("Factory's droid, on start: settings, hooks, commands", ".factory"),
    *refuse(
        "aider, on start: commands that lint and test",
        ".aider.conf.yml .aider.conf.yaml .aider.model.*",
    ),
    *refuse(
        "Amp, Augment, Tabnine, Cody, Firebender, Goose, Grok, Vibe, Rovo Dev, Devin, Warp, "
        "Hermes, Forge, OpenHands, Serena, on start",
        """.amp .config/amp .augment .tabnine .cody .sourcegraph .firebender firebender.json
           .goose .config/goose .grok .vibe .rovodev .devin .warp .hermes .forge forge.yaml
           .openhands .serena .zencoder .refact .antigravity .pi""",
    ),
    *refuse("gptme, PearAI, on start: a command that gives context", "gptme.toml .gptme .pearai"),
    *refuse(
        "programs that make working trees for agents: commands at each",
        "conductor.json .conductor .superset .container-use",
    ),
    *refuse("context-mode: its rules and configuration", ".ctxmode .config/ctxmode"),
)

_INTERPRETERS: tuple[NameRow, ...] = (
    *refuse(
        "gdb and lldb, on start here",
        ".gdbinit .gdbearlyinit .gdbinit.d .config/gdb .lldbinit .lldbinit-* .cgdb",
        in_packages=True,
    ),
    *refuse(
        "Python: the debugger here, the prompt, IPython, Jupyter",
        """.pdbrc .pdbrc.py .pythonrc .pythonrc.py .pythonstartup .ipython ipython_config.py
           .jupyter jupyter_*config.py jupyter_*config.json ipython_*config.py ipython_*config.json
           .ptpython .config/ptpython .pypythonrc .xontribs""",
        in_packages=True,
    ),
    *refuse(
        "irb, pry, ruby's debuggers, on start here",
        ".irbrc _irbrc irb.rc $irbrc .pryrc .rdbgrc .rdbgrc.rb .byebugrc .rdebugrc "
        ".config/irb .config/pry",
    ),
    *refuse(
        "R, on start here: a program, variables, a saved workspace with .First",
        ".Rprofile .Renviron* .RData renv/activate.R packrat/init.R",
    ),
    *refuse(
        "java and its debugger, on start here: the compiler's orders, options, commands",
        ".hotspot_compiler .hotspotrc .jdbrc jdb.ini .groovy .ammonite",
    ),
    *refuse("valgrind, dbx, on start here: options, commands", ".valgrindrc .dbxrc .dbxinit"),
    *refuse(
        "Prolog, Tcl, Perl's prompts, on start", ".plrc .swiplrc .tclshrc .wishrc .replyrc .re.pl"
    ),
    *refuse("Elixir's and Erlang's prompts, on start here", ".iex.exs .erlang"),
    *refuse("ghci, ghcid, OCaml's prompt, on start here", ".ghci .ghcid .ocamlinit"),
    *refuse(
        "perl -d, phpdbg, PsySH, on start here", ".perldb .phpdbginit .psysh.php .config/psysh"
    ),
    *refuse(
        "Octave, MATLAB, Maxima, gnuplot, Scilab, Julia, on start",
        ".octaverc startup.m .maxima maxima-init.mac maxima-init.lisp .gnuplot .scilab scilab.ini "
        ".julia/config .config/julia",
    ),
    *refuse(
        "Lisp, Scheme, Racket, Clojure, on start",
        ".sbclrc .ccl-init.lisp .clisprc .clisprc.lisp .eclrc .abclrc .guile .gambini "
        ".racketrc .clinit.cl .lein .clojure .config/clojure .nrepl.edn",
    ),
    *refuse(
        "database clients, on start: commands of a shell",
        ".psqlrc .sqliterc .my.cnf .mylogin.cnf .pg_service.conf .mongorc.js .mongoshrc.js "
        ".duckdbrc .redisclirc .usqlrc .config/usql .config/sqlite3",
    ),
)

_TOOLS: tuple[NameRow, ...] = (
    *refuse(
        "git, when it runs for this user, or a repository includes it",
        ".gitconfig .gitconfig.* .gitconfig-* .config/git .config/gh .git-credentials "
        ".gitcookies .git-template",
    ),
    *refuse(
        "git, on submodule update and recursive clone: where it gets programs from",
        # The second is NTFS's short name of the first, where four others were taken.
        ".gitmodules gi7eba~1",
        in_packages=True,
    ),
    *refuse("git, on commit and the like, by husky: hooks", ".husky/_ .config/husky"),
    *refuse(
        "Mercurial, for this user, and on update: repositories that it gets",
        ".hgrc .config/hg mercurial.ini .hgsub .hgsubstate",
    ),
    *refuse(
        "Jujutsu and Sapling, for this user",
        ".jjconfig.toml .config/jj .config/sapling .sapling .slconfig",
    ),
    *refuse(
        "other version control: hooks, tunnels, servers",
        """.bzr/branch/branch.conf .bzr/branch/location .config/breezy .bazaar _darcs/prefs
           .pijul/config .subversion CVS/Root .cvsrc .repo .p4config p4config p4config.txt p4.ini
           .p4env .p4enviro .config/pijul .config/darcs""",
    ),
    *refuse(
        "fossil, whenever it runs here: leads to a repository, whose settings name programs",
        "_FOSSIL_ .fslckout",
    ),
    *refuse("tig and lazygit, on start", ".tigrc .config/tig .config/lazygit .lazygit.yml"),
    *refuse("ack and ripgrep, on start: options that run programs", ".ackrc .ripgreprc"),
    *refuse("less, by its filter and keys", ".lessfilter .lesskey .config/lesskey"),
    *refuse(
        "curl, wget, ftp, text browsers, for this user: servers, files, macros",
        ".curlrc .config/curlrc .wgetrc .netrc _netrc .lynxrc .w3m .elinks",
    ),
    *refuse(
        "npm 6 and before, whenever it installs: hooks", "node_modules/.hooks", in_packages=True
    ),
)

NEVER_ROWS: tuple[NameRow, ...] = (
    *_SHELLS,
    *_EDITORS,
    *_AGENTS,
    *_INTERPRETERS,
    *_TOOLS,
    *HOME_ROWS,
)
