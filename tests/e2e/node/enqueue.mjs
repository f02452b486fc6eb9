// Enqueues a job with a plain PutItem: the six attributes that the README names, and nothing else.
import { randomUUID } from "node:crypto";
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";

const [table, jobType, payload] = process.argv.slice(2);
const now = new Date().toISOString();
const id = randomUUID();

await new DynamoDBClient().send(
  new PutItemCommand({
    TableName: table,
    Item: {
      PK: { S: "job" },
      SK: { S: `scheduled#${now}#${id}` },
      job_type: { S: jobType },
      payload: { S: payload },
      scheduled_for: { S: now },
      status: { S: "pending" },
    },
  }),
);
console.log(id);
