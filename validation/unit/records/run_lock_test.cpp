#include "trireme/records/run_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme::records {
using validation::catch_message;
using validation::ScratchFolder;

namespace {

TEST(RunLock, NamesTheJobThatHoldsIt) {
    const ScratchFolder folder;
    const RunLock lock(folder.file("lock"), describe_holder({.id = "4711"}));

    const std::string message =
        catch_message<ConfigError>([&] { RunLock(folder.file("lock"), describe_holder({.id = "4712"})); });

    EXPECT_NE(message.find(" is in use by Slurm's job 4711, process " + std::to_string(::getpid()) + " on "),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("; wait until it has ended, or choose another --run-dir"), std::string::npos);
}

TEST(RunLock, IsReleasedWhenItsHolderEnds) {
    const ScratchFolder folder;
    { const RunLock lock(folder.file("lock"), describe_holder({})); }
    EXPECT_NO_THROW(RunLock(folder.file("lock"), describe_holder({})));
}

TEST(RunLock, RejectsASymbolicLink) {
    const ScratchFolder folder;
    folder.write("precious", "text");
    std::filesystem::create_symlink("precious", folder.file("lock"));

    const std::string message = catch_message<ConfigError>([&] { RunLock(folder.file("lock"), "a job"); });

    EXPECT_EQ(message,
              folder.file("lock") +
                  " is a symbolic link, but a run does not write through links; remove it, or choose another "
                  "--run-dir");
    EXPECT_EQ(validation::read_whole(folder.file("precious")), "text");
}

TEST(RunLock, IsReleasedWhenItsProcessIsKilled) {
    const ScratchFolder folder;
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t holder = ::fork();
    if (holder == 0) {
        const RunLock lock(folder.file("lock"), "the first");
        if (::write(pipe[1], "x", 1) != 1) ::_exit(1);
        ::pause();
    }
    char held = 0;
    ASSERT_EQ(::read(pipe[0], &held, 1), 1);
    EXPECT_THROW(RunLock(folder.file("lock"), "the second"), ConfigError);
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);

    EXPECT_NO_THROW(RunLock(folder.file("lock"), "the third"));
}

}  // namespace
}  // namespace trireme::records
