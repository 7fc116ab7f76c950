// SPDX-License-Identifier: Apache-2.0
//
// A JVM that turns faults of its own into exceptions by the thousand, and then writes
// through a null pointer that is none of its own.
public class Fault {
    static int length(String text) {
        return text.length();
    }

    static int deep(int depth) {
        return deep(depth + 1) + 1;
    }

    public static void main(String[] arguments) throws Exception {
        int caught = 0;
        for (int i = 0; i < 20000; i++) {
            try {
                length(i % 3 == 0 ? null : "x");
            } catch (NullPointerException recovered) {
                caught++;
            }
        }
        try {
            deep(0);
        } catch (StackOverflowError recovered) {
            caught++;
        }
        System.out.println("recovered from " + caught);
        java.lang.reflect.Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        ((sun.misc.Unsafe) field.get(null)).putLong(24L, 1L);
    }
}
