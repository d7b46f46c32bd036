# Ruby interpreter for a session: runs one program after the other at the top level.
#
# A request comes on descriptor 3: a line with a token and the sizes of the fields after it
# (folder, bound file, name, code, arguments). The answer goes to descriptor 4: the token and an
# exit code. Started as "interactive", it shows each program's value as irb does, and SIGINT ends a
# program and nothing else.
module CtxmodeDriver
  REQUESTS = IO.for_fd(3, "rb") # Ruby closes these two in every child
  ANSWERS = IO.for_fd(4, "wb")
  PID = Process.pid
  INTERACTIVE = ARGV == ["interactive"]

  def self.serve
    $stdout.sync = true if INTERACTIVE
    @on_interrupt = trap("INT", "IGNORE") if INTERACTIVE
    while (header = REQUESTS.gets)
      token, *sizes = header.split
      fields = sizes.map { |size| (REQUESTS.read(size.to_i) || "").force_encoding("UTF-8") }
      status = run(*fields)
      exit!(status) if Process.pid != PID # a child that the program forked has come to its end
      ANSWERS.write("#{token} #{status}\n")
      ANSWERS.flush
    end
  end

  def self.run(folder, bound, name, code, *arguments)
    Dir.chdir(folder) unless folder.empty?
    ARGV.replace(arguments)
    $0 = name
    bind(bound) unless bound.empty?
    INTERACTIVE ? converse(code, name) : eval(code, TOPLEVEL_BINDING, name, 1)
    0
  rescue SystemExit => error
    error.status & 0xFF
  rescue Exception => error # a session outlives every error of its programs
    own = error.backtrace&.index { |line| line.start_with?("#{__FILE__}:") }
    error.set_backtrace(error.backtrace.take(own)) if own&.positive?
    is_syntax = INTERACTIVE && own&.zero?
    $stderr.write(is_syntax ? "#{error.message}\n" : error.full_message(highlight: false))
    error.is_a?(Interrupt) ? 130 : 1
  ensure
    $stdout.flush
    $stderr.flush
  end

  def self.converse(code, name)
    trap("INT", @on_interrupt)
    value = eval(code, TOPLEVEL_BINDING, name, 1)
    puts "=> #{value.inspect}"
  ensure
    @on_interrupt = trap("INT", "IGNORE")
  end

  def self.bind(path)
    content = File.binread(path).force_encoding(Encoding::UTF_8).scrub.freeze
    { FILE_CONTENT: content, FILE_CONTENT_PATH: path.dup.freeze }.each do |name, value|
      Object.send(:remove_const, name) if Object.const_defined?(name, false)
      Object.const_set(name, value)
    end
  end
end

CtxmodeDriver.serve
