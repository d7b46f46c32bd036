# A started Ruby waits for its program. Required when the program's file has been opened and the
# first character of its placeholder read: the file is read again.
lambda do
  here = File.dirname(__FILE__)
  started_by = File.binread("/proc/self/cmdline").split("\0")
  File.read("#{here}/gate").each_line(chomp: true) do |line|
    name, value = line.split("=", 2)
    ENV[name] = value
  end
  own = ENV.fetch("RUBYLIB").split(":").reject(&:empty?)
  # Files that the interpreter itself required might have come from the program's folder:
  # then it starts again.
  loaded = $LOADED_FEATURES.filter_map do |path|
    folder = $LOAD_PATH.find { |entry| path.start_with?("#{entry}/") }
    folder && path[folder.size + 1..].split("/").first
  end
  if own.any? { |folder| loaded.uniq.any? { |name| File.exist?("#{folder}/#{name}") } }
    at = started_by.index(__FILE__)
    ruby, *arguments = started_by[0...at - 1] + started_by[at + 1..]
    exec([ruby, ruby], *arguments)
  end
  $LOAD_PATH.unshift(*own)
  program = ObjectSpace.each_object(File).find { |file| !file.closed? && file.path == $0 }
  program.rewind
  # This file counts as required only when it has ended: removed at the program's first line.
  TracePoint.new(:line, :call, :c_call, :class, :end) do |trace|
    next if trace.path == __FILE__
    trace.disable
    $LOADED_FEATURES.delete(__FILE__)
  end.enable
end.call
