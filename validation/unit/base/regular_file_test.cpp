#include "trireme/base/regular_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

namespace fs = std::filesystem;
using validation::catch_message;
using validation::ScratchFolder;

std::string refusal_of_file(const std::string& path) {
    return catch_message<ConfigError>([&] { read_regular_file(path, "--layout"); });
}

TEST(RegularFile, IsReadUnchanged) {
    const ScratchFolder folder;
    const std::string bytes("a\0b\r\n\xff", 6);

    EXPECT_EQ(read_regular_file(folder.write("some", bytes)), bytes);
    EXPECT_EQ(read_regular_file(folder.write("empty", "")), "");
    const std::string long_text(200'000, 'x');
    EXPECT_EQ(read_regular_file(folder.write("long", long_text)), long_text);
    EXPECT_FALSE(read_regular_file("/proc/self/status").empty());
}

TEST(RegularFile, IsReadThroughASymbolicLink) {
    const ScratchFolder folder;
    fs::create_symlink(folder.write("target", "text"), folder.file("link"));

    EXPECT_EQ(read_regular_file(folder.file("link")), "text");
}

// Opening a FIFO without a writer blocks; a failing test would time out.
TEST(RegularFile, RejectsAFifo) {
    const ScratchFolder folder;
    const std::string fifo = folder.file("fifo");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);

    EXPECT_EQ(refusal_of_file(fifo),
              "--layout " + fifo +
                  " is not a regular file (it is a FIFO); write its contents to a file, and "
                  "name that file");
}

TEST(RegularFile, RejectsAPipeNamedByItsDescriptor) {
    int ends[2] = {};
    ASSERT_EQ(::pipe(ends), 0);

    EXPECT_NE(refusal_of_file(cat("/dev/fd/", ends[0])).find("(it is a FIFO); write its contents to a file"),
              std::string::npos);

    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(RegularFile, RejectsDevicesDirectoriesAndSockets) {
    const ScratchFolder folder;
    EXPECT_EQ(refusal_of_file("/dev/zero"),
              "--layout /dev/zero is not a regular file (it is a device); name a file");
    EXPECT_EQ(refusal_of_file(folder.file("")),
              "--layout " + folder.file("") + " is not a regular file (it is a directory); name a file");

    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder.file("socket");
    ASSERT_LT(path.size(), sizeof(address.sun_path));
    std::strcpy(address.sun_path, path.c_str());
    ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(refusal_of_file(path),
              "--layout " + path + " is not a regular file (it is a socket); name a file");
    ::close(socket);
}

TEST(RegularFile, NamesTheMissingFileInItsError) {
    EXPECT_EQ(refusal_of_file("/no/such.json"),
              "--layout /no/such.json cannot be read: No such file or directory; check its name");
    EXPECT_EQ(catch_message<ConfigError>([] { read_regular_file("/no/such.json"); }),
              "/no/such.json cannot be read: No such file or directory; check its name");
}

TEST(RegularFile, RejectsFilesOverTheSizeLimit) {
    const ScratchFolder folder;
    const std::string path = folder.write("five", "12345");

    EXPECT_EQ(read_regular_file(path, "", 5), "12345");
    EXPECT_EQ(catch_message<ConfigError>([&] { read_regular_file(path, "", 4); }),
              path + " has 5 bytes, but no file of its kind has more than 4; check that it is the right file");
}

// Limits the memory of this process to 4 GiB, reads the file, and ends the process.
[[noreturn]] void read_with_little_memory(const std::string& path) {
    const rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30};
    setrlimit(RLIMIT_AS, &memory);
    std::fputs(catch_message<ResourceError>([&] { read_regular_file(path, "--decisions"); }).c_str(), stderr);
    std::_Exit(static_cast<int>(ExitCode::resource));
}

TEST(RegularFileDeathTest, ReportsAResourceErrorIfItDoesNotFitIntoMemory) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer allocates memory itself";
#endif
    const ScratchFolder folder;
    const std::string path = folder.write("large", "");
    fs::resize_file(path, std::uintmax_t{1} << 40);  // a sparse file takes no space on the disk

    EXPECT_EXIT(read_with_little_memory(path), testing::ExitedWithCode(3),
                "--decisions .*large has 1099511627776 bytes and does not fit into the memory of this machine");
}

}  // namespace
}  // namespace trireme
