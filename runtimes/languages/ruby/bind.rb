FILE_CONTENT_PATH = ENV.fetch("FILE_CONTENT_PATH").freeze
FILE_CONTENT = File.binread(FILE_CONTENT_PATH).force_encoding(Encoding::UTF_8).scrub.freeze
