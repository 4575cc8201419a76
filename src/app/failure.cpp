#include "app/failure.hpp"

#include <new>

#include "trireme/base/message_text.hpp"

namespace trireme::app {
namespace {

constexpr const char* request = "\n  this is a bug in trireme; please report it with the command line";

Failure from(const Error& error) {
    if (error.code() != ExitCode::bug) return {error.code(), error.what()};
    const Where where = error.where();
    return {error.code(), cat(error.what(), " (", where.file, ":", where.line, ")", request)};
}

// Names of files and what a library says may hold anything. A sentence of ours is far shorter than the limit.
std::string printable_lines(std::string_view message) {
    constexpr std::size_t longest_line = 4000;
    std::string lines;
    for (std::size_t end = message.find('\n'); end != std::string_view::npos; end = message.find('\n')) {
        lines += printable(message.substr(0, end), longest_line) + '\n';
        message.remove_prefix(end + 1);
    }
    return lines + printable(message, longest_line);
}

}  // namespace

Failure failure_of(const std::exception_ptr& error, std::string_view without_memory) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& known) {
        return from(known);
    } catch (const std::bad_alloc&) {
        return {ExitCode::resource, cat("the machine has no memory left; ", without_memory)};
    } catch (const std::exception& unknown) {
        return {ExitCode::bug, cat(unknown.what(), request)};
    } catch (...) {
        return {ExitCode::bug, cat("an error without words", request)};
    }
}

std::string block(const Failure& failure, const std::string& place) {
    return cat("trireme: ", place, place.empty() ? "" : ": ", printable_lines(failure.message), "\n");
}

}  // namespace trireme::app
