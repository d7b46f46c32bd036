"""Names that a desktop, a shell or a tool obeys in a user's home: never committed.

Projects of dotfiles have them, and a home's links lead there.
"""

from __future__ import annotations

from executor.project.rules.name_row import NameRow, refuse

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
