#include "trireme/archive/partial_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {
namespace {

using validation::message_of;
using validation::read_whole;
using validation::says;
using validation::ScratchFolder;
using Names = std::vector<std::string>;

TEST(PartialFolder, AppearsWhenItIsKept) {
    const ScratchFolder scratch;
    PartialFolder folder(scratch.file("made"), Existing::refused);
    write_whole_file(folder.partial_path() / "a", "bytes");
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made")));

    folder.keep("");

    EXPECT_EQ(read_whole(scratch.file("made/a")), "bytes");
    EXPECT_EQ(scratch.names(), Names{"made"});
}

TEST(PartialFolder, LeavesNothingWhenItIsNotKept) {
    const ScratchFolder scratch;
    {
        const PartialFolder folder(scratch.file("made/"), Existing::refused);
        write_whole_file(folder.partial_path() / "a", "bytes");
    }

    EXPECT_TRUE(scratch.names().empty());
}

TEST(PartialFolder, ReplacesAFolderWithAllThatIsInIt) {
    const ScratchFolder scratch;
    std::filesystem::create_directory(scratch.file("made"));
    scratch.write("made/old", "old");
    {
        PartialFolder folder(scratch.file("made"), Existing::replaced);
        write_whole_file(folder.partial_path() / "new", "new");

        folder.keep("");
    }

    EXPECT_EQ(scratch.names(), Names{"made"});
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made/old")));
    EXPECT_EQ(read_whole(scratch.file("made/new")), "new");
}

TEST(PartialFolder, MakesTheFoldersOnItsWay) {
    const ScratchFolder scratch;

    PartialFolder(scratch.file("a/b/made"), Existing::refused).keep("");

    EXPECT_TRUE(std::filesystem::is_directory(scratch.file("a/b/made")));
}

TEST(PartialFolder, RefusesAPlaceWhereAFileIs) {
    const ScratchFolder scratch;
    scratch.write("made", "a file");

    EXPECT_TRUE(says(message_of<ConfigError>([&] { PartialFolder(scratch.file("made"), Existing::replaced); }),
                     "made cannot be written: Not a directory; name another folder"));
    EXPECT_TRUE(
        says(message_of<ConfigError>([&] { PartialFolder(scratch.file("made/in"), Existing::replaced); }),
             "cannot be written: Not a directory"));
    EXPECT_EQ(read_whole(scratch.file("made")), "a file");
}

TEST(PartialFolder, RefusesAFolderThatHoldsAnything) {
    const ScratchFolder scratch;
    std::filesystem::create_directory(scratch.file("made"));
    scratch.write("made/old", "old");

    EXPECT_TRUE(says(message_of<ConfigError>([&] { PartialFolder(scratch.file("made"), Existing::refused); }),
                     "made already holds old; empty it or name another folder"));
}

TEST(PartialFolder, LeavesAloneWhatCameMeanwhile) {
    const ScratchFolder scratch;
    PartialFolder folder(scratch.file("made"), Existing::refused);
    write_whole_file(folder.partial_path() / "new", "new");
    std::filesystem::create_directory(scratch.file("made"));
    scratch.write("made/old", "old");

    EXPECT_TRUE(says(message_of<ConfigError>([&] { folder.keep(""); }), "made cannot be written: "));
    EXPECT_EQ(read_whole(scratch.file("made/old")), "old");
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made/new")));
}

TEST(PartialFolder, LeavesAloneTheFilesThatCameIntoAnEmptyFolder) {
    const ScratchFolder scratch;
    std::filesystem::create_directory(scratch.file("made"));
    PartialFolder folder(scratch.file("made"), Existing::refused);
    for (const char* name : {"a", "b"}) write_whole_file(folder.partial_path() / name, "new");
    scratch.write("made/b", "old");

    EXPECT_TRUE(
        says(message_of<ConfigError>([&] { folder.keep(""); }), "made/b cannot be written: File exists"));
    EXPECT_EQ(read_whole(scratch.file("made/b")), "old");
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made/a")));
}

// A mount point or a process's current folder cannot be replaced by another folder.
TEST(PartialFolder, AnEmptyFolderStaysTheOneThatItIs) {
    const ScratchFolder scratch;
    std::filesystem::create_directory(scratch.file("made"));
    std::filesystem::create_directory_symlink("made", scratch.file("link"));
    struct stat before {};
    struct stat after {};
    ASSERT_EQ(::stat(scratch.file("made").c_str(), &before), 0);
    PartialFolder folder(scratch.file("link"), Existing::refused);
    for (const char* name : {"a", "b"}) write_whole_file(folder.partial_path() / name, name);

    folder.keep("a");

    ASSERT_EQ(::stat(scratch.file("made").c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
    EXPECT_EQ(names_in(scratch.file("made")), (Names{"a", "b"}));
}

TEST(PartialFolder, AnUnkeptOneTakesTheFoldersOnItsWayAlong) {
    const ScratchFolder scratch;

    PartialFolder(scratch.file("a/b/made"), Existing::refused);

    EXPECT_TRUE(scratch.names().empty());
}

TEST(PartialFolder, RefusesPlacesThatCannotBe) {
    const ScratchFolder scratch;
    std::filesystem::create_symlink("nowhere", scratch.file("dangling"));
    std::filesystem::create_symlink("loop", scratch.file("loop"));
    const auto refusal = [](const std::string& path) {
        return message_of<ConfigError>([&] { PartialFolder(path, Existing::refused); });
    };

    EXPECT_TRUE(says(refusal(scratch.file("dangling")), "dangling cannot be written: Not a directory"));
    EXPECT_TRUE(says(refusal(scratch.file("loop")), "loop cannot be written: Too many levels"));
    EXPECT_TRUE(says(refusal(scratch.file(std::string(5000, 'x'))), "cannot be written: File name too long"));
    EXPECT_NE(refusal(""), "(no error)");
}

TEST(PartialFolder, IsNotNamedInMessages) {
    const ScratchFolder scratch;
    const PartialFolder folder(scratch.file("made"), Existing::refused);
    std::filesystem::create_directory(folder.partial_path() / "in");

    EXPECT_TRUE(says(message_of<ConfigError>([&] { write_whole_file(folder.partial_path() / "in", "bytes"); }),
                     scratch.file("made/in") + " cannot be written: Is a directory"));
}

TEST(Listing, SaysWhyAFolderCannotBeListed) {
    const ScratchFolder scratch;

    EXPECT_TRUE(says(message_of<ConfigError>([&] { names_in(scratch.write("file", "")); }),
                     "file cannot be listed: Not a directory"));
}

TEST(WholeFile, IsReplacedWhole) {
    const ScratchFolder scratch;
    scratch.write("latest", "step-1\n");

    write_whole_file(scratch.file("latest"), "step-2\n");

    EXPECT_EQ(read_whole(scratch.file("latest")), "step-2\n");
    EXPECT_EQ(scratch.names(), Names{"latest"});
}

}  // namespace
}  // namespace trireme::archive
