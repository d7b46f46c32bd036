"""Ruby: RubyGems resolves, the registry's index gives digests; gems are built without network."""

from __future__ import annotations

from runtimes.packages.tools import Ecosystem

# The public registry has its index under a name of its own.
_LOCK = """\
cat > "$TMPDIR/lock.rb" <<'END'
require "rubygems"
require "rubygems/remote_fetcher"
require "rubygems/request_set"
at = ENV.fetch("HOSTS").split.find { |host| host.start_with?("index.") }
index = URI((at ? "https://#{at}" : ENV.fetch("REGISTRY")) + "/info/")
Gem.sources = [ENV.fetch("REGISTRY") + "/"]
wanted = Gem::RequestSet.new
File.readlines(File.join(ENV.fetch("IN"), "wanted"), chomp: true).reject(&:empty?).each do |line|
  name, requirement = line.split(":", 2)
  wanted.gem(name, *(requirement || ">= 0").split(","))
end
begin
  found = wanted.resolve(Gem::Resolver::APISet.new(index))
rescue StandardError => error
  abort "#{error.class}: #{error.message}"
end
lines = found.reject { |one| one.spec.is_a?(Gem::Resolver::InstalledSpecification) }.map do |one|
  spec = one.spec
  version = spec.platform.to_s == "ruby" ? spec.version.to_s : "#{spec.version}-#{spec.platform}"
  info = Gem::RemoteFetcher.fetcher.fetch_path(index + spec.name)
  row = info.lines.find { |text| text.split(" ", 2).first == version }
  digest = row && row[/checksum:([0-9a-f]{64})/, 1]
  abort "the registry gives no digest of #{spec.name} #{version}" unless digest
  "#{spec.name} #{version} #{digest}\\n"
end
File.write(File.join(ENV.fetch("OUT"), "gems.lock"), lines.sort.join)
END
"$RUBY" "$TMPDIR/lock.rb"
"""

_FETCH = """\
cat > "$TMPDIR/fetch.rb" <<'END'
require "digest"
require "rubygems"
require "rubygems/remote_fetcher"
given, out = ENV.fetch("IN"), ENV.fetch("OUT")
lock = File.join(given, "Gemfile.lock")
if File.exist?(lock)
  text = File.read(lock)
  rows = text[/^CHECKSUMS\\n((?: .*\\n?)*)/, 1] or abort "the lock holds no digests: #{lock}"
  gems = rows.scan(/^  (\\S+) \\((\\S+)\\)(?: sha256=([0-9a-f]{64}))?$/)
  abort "the lock holds gems that are of no registry" if text =~ /^(GIT|PATH)$/
else
  gems = File.readlines(File.join(given, "gems.lock"), chomp: true).map(&:split)
end
Dir.mkdir(File.join(out, "fetched"))
gems.each do |name, version, digest|
  abort "the lock holds no digest of #{name} #{version}" unless digest
  file = "#{name}-#{version}.gem"
  abort "a name that leads out of its folder: #{file}" if file.include?("/")
  content = Gem::RemoteFetcher.fetcher.fetch_path(ENV.fetch("REGISTRY") + "/gems/" + file)
  abort "digest mismatch: #{file}" unless Digest::SHA256.hexdigest(content) == digest
  File.binwrite(File.join(out, "fetched", file), content)
end
END
"$RUBY" "$TMPDIR/fetch.rb"
"""

_BUILD = """\
for gem in "$AT"/fetched/*.gem; do
    if [ -e "$gem" ]; then set -- "$@" "$gem"; fi
done
if [ $# -gt 0 ]; then
    "$RUBY" -S gem install --local --force --ignore-dependencies --no-document \\
        --install-dir "$OUT" "$@" >&2
fi
rm -rf "$OUT/cache"
"""

RUBY = Ecosystem(
    name="ruby",
    title="Ruby",
    languages=("ruby",),
    registry="https://rubygems.org",
    hosts=("index.rubygems.org",),
    spec=r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(?::(?:~>|>=|<=|[<>=])?\s?[0-9A-Za-z.]{1,40}"
    r"(?:,(?:~>|>=|<=|[<>=])?\s?[0-9A-Za-z.]{1,40}){0,3})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/ruby",
    env={"GEM_PATH": "/packages/ruby:"},  # the closing colon keeps the default paths
    lock_name="gems.lock",
    lock_files=(("Gemfile.lock",),),
    missing=r"cannot load such file -- ([a-z0-9_][\w-]*)",
    complaints=(
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"holds no digest|gives no digest", "there is no digest of it"),
        (r"of no registry", "the lock holds what comes from no registry"),
        (r"bad response Not Found 404|Unable to resolve|unable to find", "there is no such gem"),
        (r"conflicting dependencies", "no versions fit together"),
        (r"Failed to build gem native extension", "an extension was not built without network"),
        (r"leads out of|escapes|package corrupt|metadata not found", "an archive is damaged"),
    ),
    extra_env={"GEM_HOME": "{scratch}/gems", "GEM_SPEC_CACHE": "{scratch}/specs"},
    cooldown=False,
)
