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
  "#{spec.name} #{version} #{digest}\n"
end
File.write(File.join(ENV.fetch("OUT"), "gems.lock"), lines.sort.join)
END
"$RUBY" "$TMPDIR/lock.rb"
