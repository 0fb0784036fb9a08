# frozen_string_literal: true

# Records the calls of a Ruby project while its tests run, its superclasses and its `require`s.
#
#   TRACE_ROOT=FOLDER TRACE_OUT=truth.jsonl ruby -r ./benchmarks/graph/trace_ruby.rb -I lib -I test -e \
#     'ARGV.each { |file| require File.expand_path(file) }' test/test_*.rb
#
# The rows are those of `measure.py`. A call counts where the name of the method is written at the line.
# It leads to the method that ran, or to one that it overrides. `T.new` is a call of `T` or of its
# constructor. Methods without a `def` of their own (`attr_reader`, `define_method`) are `others`.

require "json"
require "set"

module CallTrace
  ROOT = File.realpath(ENV.fetch("TRACE_ROOT")) + "/"

  @calls = {}
  @lines = {}
  @methods = {}
  @files = {}

  class << self
    def start
      @point = TracePoint.new(:call, :c_call) { |point| record(point) }
      at_exit { finish }
      @point.enable
    end

    def record(point)
      if point.event == :c_call
        path, line = point.path, point.lineno
      else
        where = caller_locations(3, 1)&.first
        return unless where
        path, line = where.path, where.lineno
      end
      path = relative(path)
      return unless path
      name = point.callee_id
      return unless written?(path, line, name)
      owner = point.self
      key = [path, line, name]
      if point.event == :c_call && name == :new && Module === owner && Class === owner
        (@calls[key] ||= Set.new) << [:type, owner]
      else
        (@calls[key] ||= Set.new) << [:method, point.defined_class, point.method_id]
      end
    end

    def relative(path)
      return nil unless path
      @files.fetch(path) do
        full = File.exist?(path) ? File.realpath(path) : path
        @files[path] = full.start_with?(ROOT) && full.end_with?(".rb") ? full.delete_prefix(ROOT) : nil
      end
    end

    def written?(path, line, name)
      text = source(path)[line - 1]
      text && !text.match?(/^\s*(def|alias|attr_)/) && text.match?(/(?<![\w@$:])#{Regexp.escape(name.to_s)}(?!\w|:[^:])/)
    end

    def source(path)
      @lines[path] ||= File.readlines(ROOT + path, encoding: "UTF-8").map(&:scrub)
    end

    def places(defined, name)
      @methods[[defined, name]] ||= begin
        found = []
        method = defined.instance_method(name)
        while method
          found << place(method.source_location, name)
          break unless method.respond_to?(:super_method)
          method = method.super_method
        end
        found.compact
      rescue NameError, TypeError
        []
      end
    end

    def place(location, name)
      path = location && relative(location[0])
      path && { path: path, line: location[1], name: name.to_s }
    end

    def type_places(type)
      found = [place(named(type), type.name.to_s.split("::").last)]
      found += places(type, :initialize) if type.private_method_defined?(:initialize)
      found.compact
    end

    def named(type)
      type.name && Object.const_source_location(type.name)
    rescue NameError
      nil
    end

    def finish
      @point.disable
      File.open(ENV.fetch("TRACE_OUT"), "a") do |out|
        @calls.each { |key, owners| out.puts(JSON.generate(call(key, owners))) }
        superclasses { |row| out.puts(JSON.generate(row)) }
        requires { |row| out.puts(JSON.generate(row)) }
      end
    end

    def call(key, owners)
      found = owners.flat_map { |kind, *of| kind == :type ? type_places(of[0]) : places(*of) }.uniq
      targets, others = found.partition { |target| defined_there?(target) }
      { kind: "call", path: key[0], line: key[1], name: key[2].to_s, targets: targets, others: others, resolved: true }
    end

    def defined_there?(target)
      text = source(target[:path])[target[:line] - 1].to_s
      text.match?(/\b(def|class|module)\b.*\b#{Regexp.escape(target[:name])}/)
    end

    def superclasses
      ObjectSpace.each_object(Class) do |type|
        next if type.singleton_class? || type.name.nil?
        here, above = place(named(type), type.name.split("::").last), type.superclass
        next unless here && above&.name && (text = source(here[:path])[here[:line] - 1]).match?(/class .*</)
        name = above.name.split("::").last
        next unless text.include?(name)
        targets = [place(named(above), name)].compact
        yield(kind: "inherit", path: here[:path], line: here[:line], name: name, targets: targets, resolved: true)
      end
    end

    def requires
      Dir.glob("**/*.rb", base: ROOT).each do |path|
        source(path).each_with_index do |text, index|
          found = text.match(/^\s*(require|require_relative)[ (]+(['"])([^'"#]+)\2/)
          next unless found
          folders = found[1] == "require" ? load_folders : [File.dirname(path)]
          file = folders.map { |folder| File.join(folder, found[3].delete_suffix(".rb") + ".rb") }
                        .map { |each| File.expand_path(each, ROOT) }.find { |each| File.file?(each) }
          targets = file ? [{ path: file.delete_prefix(ROOT) }] : []
          yield(kind: "import", path: path, line: index + 1, targets: targets)
        end
      end
    end

    def load_folders
      $LOAD_PATH.map { |folder| File.expand_path(folder.to_s) + "/" }.select { |folder| folder.start_with?(ROOT) }
    end
  end
end

CallTrace.start
