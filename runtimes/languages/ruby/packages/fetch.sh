cat > "$TMPDIR/fetch.rb" <<'END'
require "digest"
require "rubygems"
require "rubygems/remote_fetcher"
given, out = ENV.fetch("IN"), ENV.fetch("OUT")
lock = File.join(given, "Gemfile.lock")
if File.exist?(lock)
  text = File.read(lock)
  rows = text[/^CHECKSUMS\n((?: .*\n?)*)/, 1] or abort "the lock holds no digests: #{lock}"
  gems = rows.scan(/^  (\S+) \((\S+)\)(?: sha256=([0-9a-f]{64}))?$/)
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
