#include "app/failure.hpp"

#include <new>

namespace trireme::app {
namespace {

constexpr const char* request = "\n  this is a bug in trireme; please report it with the command line";

Failure from(const Error& error) {
    if (error.code() != ExitCode::bug) return {error.code(), error.what()};
    const Where where = error.where();
    return {error.code(), cat(error.what(), " (", where.file, ":", where.line, ")", request)};
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
    return cat("trireme: ", place, place.empty() ? "" : ": ", failure.message, "\n");
}

}  // namespace trireme::app
