#include "trireme/base/sha256.hpp"

#include <gtest/gtest.h>

namespace trireme {
namespace {

TEST(Sha256, AgreesWithTheExamplesOfFips180) {
    EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
              "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, MatchesTheKnownDigestOfAnEmptyMessage) {
    const Sha256 nothing;

    EXPECT_EQ(nothing.hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, DoesNotDependOnHowTheMessageIsSplit) {
    std::string message;
    for (int i = 0; i < 300; ++i) message += static_cast<char>(i * 7);

    for (std::size_t portion = 1; portion <= 130; ++portion) {
        Sha256 sum;
        for (std::size_t at = 0; at < message.size(); at += portion)
            sum.update(std::string_view(message).substr(at, portion));

        EXPECT_EQ(sum.hex(), sha256_hex(message)) << "in portions of " << portion << " bytes";
    }
}

TEST(Sha256, PadsMessagesOfEveryLengthUpTo129Bytes) {
    // The digests of 130 lengths are joined and hashed once more. The constant comes from Python's hashlib.
    Sha256 all;
    for (std::size_t length = 0; length < 130; ++length) all.update(sha256_hex(std::string(length, 'x')));

    EXPECT_EQ(all.hex(), "199af942eba7fa5d1e16d475169eb24018b14e69339c93d26a9ea6d873b4ace6");
}

TEST(Sha256, ContinuesAfterADigestWasRead) {
    Sha256 sum;
    sum.update("a");
    const std::string first = sum.hex();
    sum.update("bc");

    EXPECT_EQ(first, sha256_hex("a"));
    EXPECT_EQ(sum.hex(), sha256_hex("abc"));
}

// Many bytes at once use the processor's SHA instructions if it has them; portions of 100 bytes never do.
TEST(Sha256, IsTheSameForLargeAndSmallPortions) {
    std::string bytes(70001, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i % 251);
    Sha256 in_portions;
    for (std::size_t begin = 0; begin < bytes.size(); begin += 100)
        in_portions.update(std::string_view(bytes).substr(begin, 100));

    EXPECT_EQ(sha256_hex(bytes), in_portions.hex());
    EXPECT_NE(sha256_hex(bytes), sha256_hex(bytes.substr(1)));
}

// Up to sixteen messages are hashed together if there are enough of them. Messages end anywhere in a block, and
// some have no whole block.
TEST(Sha256, MatchesSingleDigestsForManyMessagesAtOnce) {
    std::string bytes(40000, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i % 253);
    for (const std::size_t count : {0, 1, 9, 11, 16, 17, 40}) {
        std::vector<std::string> messages;
        std::vector<std::span<const std::byte>> spans;
        for (std::size_t m = 0; m < count; ++m)
            messages.push_back(bytes.substr(m, m % 7 == 3 ? m : 20000 - 64 * (m % 5) + m));
        for (const std::string& message : messages) spans.push_back(std::as_bytes(std::span(message)));

        const std::vector<std::string> found = Sha256::hash_each(spans);

        ASSERT_EQ(found.size(), count);
        for (std::size_t m = 0; m < count; ++m) EXPECT_EQ(found[m], sha256_hex(messages[m])) << m;
    }
}

}  // namespace
}  // namespace trireme
