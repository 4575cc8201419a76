#include <gtest/gtest.h>

#include <new>

#include "app/program.hpp"

namespace trireme::app {
namespace {

template <class Thrown>
Failure failure_from(const Thrown& thrown) {
    return describe_failure(std::make_exception_ptr(thrown));
}

TEST(Failure, HasTheExitCodeOfItsErrorClass) {
    EXPECT_EQ(failure_from(ConfigError("a")).code, ExitCode::config);
    EXPECT_EQ(failure_from(ResourceError("a")).code, ExitCode::resource);
    EXPECT_EQ(failure_from(BugError("a")).code, ExitCode::bug);
    EXPECT_EQ(failure_from(std::bad_alloc()).code, ExitCode::resource);
    EXPECT_EQ(failure_from(std::runtime_error("a")).code, ExitCode::bug);
    EXPECT_EQ(failure_from(7).code, ExitCode::bug);
}

TEST(Failure, NamesTheSourceLineOfABugAndAsksForAReport) {
    const std::string message = failure_from(BugError("two owners", SourcePosition{"mover.cpp", 12})).message;

    EXPECT_EQ(message,
              "two owners (mover.cpp:12)\n  this is a bug in trireme; please report it with the command line");
}

TEST(Failure, IsPrintedAsOneBlockWithTheRank) {
    const Failure failure{ExitCode::resource, "the disk is full; free 3 GB"};

    EXPECT_EQ(format_failure(failure), "trireme: the disk is full; free 3 GB\n");
    EXPECT_EQ(format_failure(failure, "rank 3 (node7)"),
              "trireme: rank 3 (node7): the disk is full; free 3 GB\n");
}

TEST(Failure, EscapesControlCharactersAndLimitsItsLength) {
    EXPECT_EQ(format_failure({ExitCode::config, "\x1B[2J\nb\xFF"}), "trireme: \\x1b[2J\nb\\xff\n");
    EXPECT_LT(format_failure({ExitCode::config, std::string(100'000, 'x')}).size(), 5000U);
}

TEST(Failure, AdvisesWhatToDoIfMemoryRunsOut) {
    const std::exception_ptr none_left = std::make_exception_ptr(std::bad_alloc());

    EXPECT_EQ(describe_failure(none_left).message,
              "the machine has no memory left; end other programs, or use a machine with more memory");
    EXPECT_EQ(describe_failure(none_left, "use a smaller --batch").message,
              "the machine has no memory left; use a smaller --batch");
}

}  // namespace
}  // namespace trireme::app
