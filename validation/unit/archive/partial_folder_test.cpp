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

using validation::catch_message;
using validation::read_whole;
using validation::says;
using validation::ScratchFolder;
using Names = std::vector<std::string>;

TEST(PartialFolder, AppearsOnlyWhenKept) {
    const ScratchFolder scratch;
    PartialFolder folder(scratch.file("made"), ExistingFolder::refuse);
    write_file_atomically(folder.partial_path() / "a", "bytes");
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made")));

    folder.commit("");

    EXPECT_EQ(read_whole(scratch.file("made/a")), "bytes");
    EXPECT_EQ(scratch.names(), Names{"made"});
}

TEST(PartialFolder, LeavesNothingIfNotKept) {
    const ScratchFolder scratch;
    {
        const PartialFolder folder(scratch.file("made/"), ExistingFolder::refuse);
        write_file_atomically(folder.partial_path() / "a", "bytes");
    }

    EXPECT_TRUE(scratch.names().empty());
}

TEST(PartialFolder, ReplacesAnExistingFolderAndItsContents) {
    const ScratchFolder scratch;
    std::filesystem::create_directory(scratch.file("made"));
    scratch.write("made/old", "old");
    {
        PartialFolder folder(scratch.file("made"), ExistingFolder::replace);
        write_file_atomically(folder.partial_path() / "new", "new");

        folder.commit("");
    }

    EXPECT_EQ(scratch.names(), Names{"made"});
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made/old")));
    EXPECT_EQ(read_whole(scratch.file("made/new")), "new");
}

TEST(PartialFolder, CreatesParentFolders) {
    const ScratchFolder scratch;

    PartialFolder(scratch.file("a/b/made"), ExistingFolder::refuse).commit("");

    EXPECT_TRUE(std::filesystem::is_directory(scratch.file("a/b/made")));
}

TEST(PartialFolder, RejectsAPathOccupiedByAFile) {
    const ScratchFolder scratch;
    scratch.write("made", "a file");

    EXPECT_TRUE(
        says(catch_message<ConfigError>([&] { PartialFolder(scratch.file("made"), ExistingFolder::replace); }),
             "made cannot be written: Not a directory; name another folder"));
    EXPECT_TRUE(says(
        catch_message<ConfigError>([&] { PartialFolder(scratch.file("made/in"), ExistingFolder::replace); }),
        "cannot be written: Not a directory"));
    EXPECT_EQ(read_whole(scratch.file("made")), "a file");
}

TEST(PartialFolder, RejectsAFolderThatIsNotEmpty) {
    const ScratchFolder scratch;
    std::filesystem::create_directory(scratch.file("made"));
    scratch.write("made/old", "old");

    EXPECT_TRUE(
        says(catch_message<ConfigError>([&] { PartialFolder(scratch.file("made"), ExistingFolder::refuse); }),
             "made already holds old; empty that folder or name another folder"));
}

TEST(PartialFolder, DoesNotReplaceAFolderCreatedMeanwhile) {
    const ScratchFolder scratch;
    PartialFolder folder(scratch.file("made"), ExistingFolder::refuse);
    write_file_atomically(folder.partial_path() / "new", "new");
    std::filesystem::create_directory(scratch.file("made"));
    scratch.write("made/old", "old");

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { folder.commit(""); }), "made cannot be written: "));
    EXPECT_EQ(read_whole(scratch.file("made/old")), "old");
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made/new")));
}

TEST(PartialFolder, DoesNotReplaceFilesCreatedMeanwhile) {
    const ScratchFolder scratch;
    std::filesystem::create_directory(scratch.file("made"));
    PartialFolder folder(scratch.file("made"), ExistingFolder::refuse);
    for (const char* name : {"a", "b"}) write_file_atomically(folder.partial_path() / name, "new");
    scratch.write("made/b", "old");

    EXPECT_TRUE(
        says(catch_message<ConfigError>([&] { folder.commit(""); }), "made/b cannot be written: File exists"));
    EXPECT_EQ(read_whole(scratch.file("made/b")), "old");
    EXPECT_FALSE(std::filesystem::exists(scratch.file("made/a")));
}

// A mount point or a process's current folder cannot be replaced by another folder.
TEST(PartialFolder, FillsAnEmptyFolderInPlace) {
    const ScratchFolder scratch;
    std::filesystem::create_directory(scratch.file("made"));
    std::filesystem::create_directory_symlink("made", scratch.file("link"));
    struct stat before {};
    struct stat after {};
    ASSERT_EQ(::stat(scratch.file("made").c_str(), &before), 0);
    PartialFolder folder(scratch.file("link"), ExistingFolder::refuse);
    for (const char* name : {"a", "b"}) write_file_atomically(folder.partial_path() / name, name);

    folder.commit("a");

    ASSERT_EQ(::stat(scratch.file("made").c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
    EXPECT_EQ(list_names(scratch.file("made")), (Names{"a", "b"}));
}

TEST(PartialFolder, RemovesCreatedParentFoldersIfNotKept) {
    const ScratchFolder scratch;

    PartialFolder(scratch.file("a/b/made"), ExistingFolder::refuse);

    EXPECT_TRUE(scratch.names().empty());
}

TEST(PartialFolder, RejectsDanglingLinksLoopsAndUnusableNames) {
    const ScratchFolder scratch;
    std::filesystem::create_symlink("nowhere", scratch.file("dangling"));
    std::filesystem::create_symlink("loop", scratch.file("loop"));
    const auto refusal = [](const std::string& path) {
        return catch_message<ConfigError>([&] { PartialFolder(path, ExistingFolder::refuse); });
    };

    EXPECT_TRUE(says(refusal(scratch.file("dangling")), "dangling cannot be written: Not a directory"));
    EXPECT_TRUE(says(refusal(scratch.file("loop")), "loop cannot be written: Too many levels"));
    EXPECT_TRUE(says(refusal(scratch.file(std::string(5000, 'x'))), "cannot be written: File name too long"));
    EXPECT_NE(refusal(""), "(no error)");
}

TEST(PartialFolder, IsNamedByItsFinalPathInErrors) {
    const ScratchFolder scratch;
    const PartialFolder folder(scratch.file("made"), ExistingFolder::refuse);
    std::filesystem::create_directory(folder.partial_path() / "in");

    EXPECT_TRUE(
        says(catch_message<ConfigError>([&] { write_file_atomically(folder.partial_path() / "in", "bytes"); }),
             scratch.file("made/in") + " cannot be written: Is a directory"));
}

TEST(Listing, SaysWhyAFolderCannotBeListed) {
    const ScratchFolder scratch;

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { list_names(scratch.write("file", "")); }),
                     "file cannot be listed: Not a directory"));
}

TEST(AtomicWrite, ReplacesTheFileAndLeavesNoOther) {
    const ScratchFolder scratch;
    scratch.write("latest", "step-1\n");

    write_file_atomically(scratch.file("latest"), "step-2\n");

    EXPECT_EQ(read_whole(scratch.file("latest")), "step-2\n");
    EXPECT_EQ(scratch.names(), Names{"latest"});
}

}  // namespace
}  // namespace trireme::archive
